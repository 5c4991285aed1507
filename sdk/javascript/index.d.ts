// SPDX-License-Identifier: Apache-2.0

/** Relative to the root, with "/" between components. Names that are not UTF-8 are bytes, both ways. */
export type Name = string | Uint8Array;

/** On whose behalf something is done. Grants, questions and records name it. */
export type Subject =
  | { type: "core"; id: string }
  | { type: "agent-run"; conversationId: string; runId?: string }
  | { type: "extension"; extensionId: string }
  | { type: "automation"; taskId: string };

export type RootKind = "workspace" | "extension-storage" | "artifact" | "temp" | "knowledge" | "downloads" | "secret";

/** A directory of the host. Policies, hooks and records see everything but the path. */
export interface Root {
  kind: RootKind;
  /** Of extension storage: the extension that it belongs to. */
  id: string;
  /** In one of the directories that the authority was started with. */
  path: string;
  displayName?: string;
  labels?: Record<string, string>;
}

export type Access = "read" | "write" | "delete" | "list" | "move" | "archive" | "watch" | "metadata";

/** Who agreed. A manifest alone allows no changes in a workspace. */
export type Source = "manifest" | "conversation" | "user-approval" | "core";

/** Limits of one grant, on top of what its kind of root allows. */
export interface Limits {
  symlinks?: "reject" | "allow-in-root";
  /** "allow" works for a workspace that is only read. */
  hardlinks?: "reject" | "allow";
  maxFileBytes?: number;
  /** None means all names. */
  allowedGlobs?: string[];
  deniedGlobs?: string[];
}

export interface Cancellable {
  /** Rejects at once with the code "cancelled", and has the authority stop. */
  signal?: AbortSignal;
}

export interface RootRequest extends Cancellable {
  subject: Subject;
  root: Root;
  access: Access[];
  /** Why, for people who read the audit log. */
  reason: string;
  /** By default "manifest". */
  source?: Source;
  expiresAt?: string | Date;
  /** Whether a user can be asked. */
  interactive?: boolean;
  policy?: Limits;
}

/** What a policy or hook learns of an operation. */
export interface OperationContext {
  requestId: string | number;
  /** As the audit log has it: an agent run's id is its conversation. */
  subject: { type: Subject["type"]; id: string; runId?: string };
  root: Omit<Root, "path">;
  /** "read", "write", "list", "metadata", "delete", "request-root" and so on, as in the audit log. */
  operation: string;
  /** As it was given, so it may be anything. */
  relativePath?: Name;
  destinationPath?: Name;
  access: Access[];
  reason: string;
}

export type Decision =
  | { type: "allow" }
  | { type: "deny"; reason: string }
  /** Without anybody to ask, `default` decides; without that, it is a refusal. */
  | { type: "ask-user"; prompt: string; default?: "allow" | "deny" };

/** Decides about every operation. One that throws, or that says nothing, refuses. It has 30 seconds. */
export interface Policy {
  decide(context: OperationContext): Decision | Promise<Decision>;
}

type MaybeDecision = Decision | { type: "abstain" } | void;

/** Sees every operation that the policy has allowed; hooks run in the order of the list, at most 16. */
export interface Hook {
  /** In the audit log, and unique. */
  id: string;
  /** May refuse. Nothing means no objection; to throw is to refuse. */
  before?(context: OperationContext): MaybeDecision | Promise<MaybeDecision>;
  after?(context: OperationContext & { outcome: "success" | "failure"; error?: string }): void | Promise<void>;
}

/** A record of the audit log. More members may come. */
export interface AuditRecord {
  timestamp: string;
  requestId: string;
  subject: { type: string; id: string; runId?: string };
  root?: { kind: RootKind; id: string; displayName?: string };
  operation: string;
  outcome: "intent" | "success" | "denied" | "failed" | "noticed";
  relativePath?: string;
  destinationPath?: string;
  error?: string;
  category?: "policy" | "operational";
  policySource?: string;
  wrapperIds?: string[];
  reason?: string;
  [member: string]: unknown;
}

export interface StartOptions {
  /** No grant reaches anything else. In memory there are none. */
  directories?: string[];
  /** For the audit log and temporary workspaces. */
  stateDir?: string;
  /** The program; by default the `gatehouse` of the PATH. */
  command?: string;
  /** Keep all files in memory, for tests. Then roots may have any path. */
  memory?: boolean;
  policy?: Policy;
  hooks?: Hook[];
  /** Asks the user. Only `true` allows. The user has 15 minutes. */
  ask?(context: OperationContext, prompt: string): boolean | Promise<boolean>;
  onEvent?(record: AuditRecord): void;
  /** Gets what the program and this library say, which otherwise goes to standard error. */
  log?(text: string): void;
}

export interface Grant {
  grant: number;
  subject: { type: Subject["type"]; id: string; runId?: string };
  kind: RootKind;
  id: string;
  path?: string;
  access: Access[];
  source: Source;
  expiresAt?: string;
}

/** A running `gatehouse authority`. It ends with `close()`, or with the host. */
export class Authority {
  private constructor();
  static start(options: StartOptions): Promise<Authority>;
  readonly pid: number | undefined;
  requestRoot(request: RootRequest): Promise<ScopedFileSystem>;
  /** A private directory that is removed with its scope. */
  createTempWorkspace(request: { subject: Subject; reason: string } & Cancellable): Promise<ScopedFileSystem>;
  /** Those that are valid now. */
  grants(): Promise<Grant[]>;
  /** Ends a grant, and what runs with it. False if there is none. */
  revoke(grantId: number): Promise<boolean>;
  /**
   * Arguments of `gatehouse sandbox run`, so that a command sees the directories of these grants (by default all):
   * read-only, or writable if the grant has write and delete. It leaves out temporary and secret roots, and those
   * without read and list. Globs and other limits of a grant do not apply to the command.
   */
  sandboxArguments(grants?: Grant[]): Promise<string[]>;
  /** Ends the process and waits for that. Whatever is pending is rejected. */
  close(): Promise<void>;
}

export interface ReadOptions extends Cancellable {
  offset?: number;
  maxBytes?: number;
}

export interface WriteOptions extends Cancellable {
  /** "new" fails if the file exists, "replace" if it does not. */
  create?: "any" | "new" | "replace";
  /** Make missing directories. */
  parents?: boolean;
  /** Of a new file. */
  mode?: number;
  /** Needed in an artifact root, which nothing else changes. */
  artifact?: boolean;
}

export interface ListOptions extends Cancellable {
  recursive?: boolean;
  /** Entries get the members of a Stat, too. */
  stat?: boolean;
  /** More are an error, "too_large". */
  maxEntries?: number;
  maxDepth?: number;
}

export interface TransferOptions extends Cancellable {
  replace?: boolean;
  parents?: boolean;
}

export interface ExtractOptions extends Cancellable {
  maxEntries?: number;
  maxTotalBytes?: number;
  maxEntryBytes?: number;
}

export type FileType = "file" | "directory" | "symlink" | "other";

export interface Stat {
  type: FileType;
  size: number;
  modifiedAt: string;
  mode: number;
  links: number;
}

export interface Entry extends Partial<Stat> {
  name: Name;
  type: FileType;
}

export interface ArchiveResult {
  files: number;
  directories: number;
  bytes: number;
}

export type Change =
  | { change: "created" | "changed" | "removed"; name: Name }
  /** Changes were lost: look at everything again. */
  | { change: "rescan"; name?: Name }
  /** The last one, when the grant or the authority ends. */
  | { change: "ended"; code: string };

export interface Watch {
  close(): Promise<void>;
}

/** The operations on one root. All names are relative to it. */
export interface FileOperations {
  readBytes(name: Name, options?: ReadOptions): Promise<Uint8Array>;
  /** Refuses what is not UTF-8. */
  readText(name: Name, options?: ReadOptions): Promise<string>;
  readJson(name: Name, options?: ReadOptions): Promise<unknown>;
  /** Whole or not at all, and on the disk when it resolves. Do not change the bytes before. */
  writeBytes(name: Name, bytes: Uint8Array, options?: WriteOptions): Promise<void>;
  writeText(name: Name, text: string, options?: WriteOptions): Promise<void>;
  writeJson(name: Name, value: unknown, options?: WriteOptions & { indent?: number | string }): Promise<void>;
  append(name: Name, data: string | Uint8Array, options?: { parents?: boolean } & Cancellable): Promise<void>;
  list(name?: Name, options?: ListOptions): Promise<Entry[]>;
  stat(name: Name, options?: Cancellable): Promise<Stat>;
  exists(name: Name, options?: Cancellable): Promise<boolean>;
  mkdir(name: Name, options?: { parents?: boolean; mayExist?: boolean } & Cancellable): Promise<void>;
  move(from: Name, to: Name, options?: TransferOptions): Promise<void>;
  /** A file; directories can only be moved. */
  copy(from: Name, to: Name, options?: TransferOptions): Promise<void>;
  /** Copies a file from another scope of the same authority. */
  copyIn(to: Name, source: ScopedFileSystem, from: Name, options?: TransferOptions): Promise<void>;
  moveIn(to: Name, source: ScopedFileSystem, from: Name, options?: TransferOptions): Promise<void>;
  remove(name: Name, options?: { recursive?: boolean; mayMiss?: boolean } & Cancellable): Promise<void>;
  /** Extracts everything or nothing. */
  extractArchive(archive: Name, destination: Name, options?: ExtractOptions): Promise<ArchiveResult>;
  /** Without a format, the ending of the name decides. */
  createArchive(
    source: Name,
    archive: Name,
    options?: { format?: "tar.gz" | "tar.xz" | "tar.zst" | "zip" } & Cancellable,
  ): Promise<ArchiveResult>;
  /** For the same subject. */
  createTempWorkspace(options?: { reason?: string } & Cancellable): Promise<ScopedFileSystem>;
  /** Reports changes of a directory and its direct entries, by anybody. */
  watch(name: Name, callback: (change: Change) => void, options?: Cancellable): Promise<Watch>;
}

/** One root, for one subject, as long as its grant lasts. */
export class ScopedFileSystem implements FileOperations {
  private constructor();
  readonly root: Omit<Root, "path">;
  readonly subject: Subject;
  readonly grantId: number;
  /** Gives the grant back. */
  close(): Promise<void>;
}
export interface ScopedFileSystem extends FileOperations {}

/** Why something was refused or failed. */
export class FileSystemAuthorityError extends Error {
  constructor(code: string, category: "policy" | "operational", operation: string, message: string, options?: { cause?: unknown });
  /** "path_outside_root", "denied_by_policy", "not_found" and so on. */
  readonly code: string;
  /** "policy": a rule refused, and refuses the same request again. "operational": the machine failed. */
  readonly category: "policy" | "operational";
  readonly operation: string;
}

/** `filesystem:KIND:INTENT`; "read" covers read, list, metadata and watch, "write" the other four. */
export type Permission = `filesystem:${RootKind}:${"read" | "write" | "readwrite"}`;

/** What an extension says itself. The host says who it is, and where its roots are. */
export type ExtensionRequest = Omit<RootRequest, "subject" | "root" | "source">;

export interface ExtensionOptions {
  extensionId: string;
  /** The permissions in the extension's manifest. */
  permissions: Permission[] | string[];
  workspace?: Omit<Root, "kind">;
  /** Exists; each extension gets the directory in here that has its id. */
  storageDirectory?: string;
  /** More roots that it may request by kind and id. */
  roots?: Root[];
  /** Who agreed to its requests. By default nobody but the manifest, so it cannot change the workspace. */
  source?: "manifest" | "conversation" | "user-approval";
}

export interface ExtensionContext {
  filesystem: {
    workspace(request: ExtensionRequest): Promise<ScopedFileSystem>;
    extensionStorage(request: ExtensionRequest): Promise<ScopedFileSystem>;
    /** Needs filesystem:temp:readwrite. */
    temp(request: { reason: string } & Cancellable): Promise<ScopedFileSystem>;
    /** One of the roots that the host offers. */
    requestRoot(request: ExtensionRequest & { root: { kind: RootKind; id: string } }): Promise<ScopedFileSystem>;
  };
  /** The operations on the workspace; what they need is requested when they are called first. */
  workspace: FileOperations & { close(): Promise<void> };
}

export function createExtensionContext(authority: Authority, options: ExtensionOptions): ExtensionContext;
