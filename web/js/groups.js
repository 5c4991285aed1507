// What people call the groups of tools.
export const GROUPS = { read: "Read files", write: "Change files", shell: "Commands", browser: "Browser", screen: "Screen and input", other: "Other tools" };

// Those that a workspace has.
export const OF_WORKSPACE = ["read", "write", "shell"];

export const groupsText = (groups) =>
  groups.length === Object.keys(GROUPS).length ? "Everything" : groups.map((group) => GROUPS[group] ?? group).join(", ");
