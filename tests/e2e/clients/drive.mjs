// SPDX-License-Identifier: Apache-2.0
// What every client library has to be able to do with a server over FOLDER that may write. A
// library's own script hands over an adapter:
//
//   name                              for messages
//   request(method, params, options)  a result; options: { signal, onprogress }
//   subscribe(uri, onUpdated)         resolves once it is watched, to a function that ends it
//   close()
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Of the 20,000 files that the runner has put there: long enough for progress.
const SEARCH = { name: "f1*9", dirPath: "build" };
const SEARCHES = 60;
const FOUND = 1100;

export async function drive(client, folder) {
  const address = (name) => pathToFileURL(join(folder, name)).href;
  const onDisk = (name) => readFileSync(join(folder, name), "utf8");
  const call = (name, args, options) =>
    client.request("tools/call", { name, arguments: args }, options);
  const good = async (name, args) => {
    const result = await call(name, args);
    assert.ok(!result.isError, JSON.stringify(result));
    return result.structuredContent ?? result.content[0].text;
  };
  let checks = 0;
  const check = async (what, run) => {
    try {
      await run();
    } catch (error) {
      error.message = `${client.name}: ${what}: ${error.message}`;
      throw error;
    }
    checks++;
  };

  await check("tools are listed", async () => {
    const { tools } = await client.request("tools/list", {});
    assert.equal(tools.length, 17);
    assert.ok(tools.every((tool) => tool.inputSchema.type === "object"));
  });
  await check("write_file", async () => {
    assert.deepEqual(await good("write_file", { filePath: "n/a.txt", content: "one\ntwo\n" }), {
      path: "n/a.txt",
    });
    assert.equal(onDisk("n/a.txt"), "one\ntwo\n");
  });
  await check("append_file", async () => {
    await good("append_file", { filePath: "n/a.txt", content: "three\n" });
    assert.equal(onDisk("n/a.txt"), "one\ntwo\nthree\n");
  });
  await check("read_file", async () => {
    const told = await good("read_file", { filePath: "n/a.txt", startLine: 2, maxLines: 1 });
    assert.equal(told.content, "two");
    assert.equal(told.nextStartLine, 3);
  });
  await check("edit_file", async () => {
    await good("edit_file", { filePath: "n/a.txt", oldString: "one", newString: "$&" });
    assert.equal(onDisk("n/a.txt"), "$&\ntwo\nthree\n");
  });
  await check("edit_files", async () => {
    const edits = [{ filePath: "n/a.txt", oldString: "two", newString: "2" }];
    const dry = await good("edit_files", { edits, dryRun: true });
    assert.match(dry.diff, /^\+2$/m);
    assert.equal((await good("edit_files", { edits })).files[0].edits, 1);
  });
  await check("create_directory, copy_file, move", async () => {
    await good("create_directory", { dirPath: "made" });
    await good("copy_file", { sourcePath: "n/a.txt", destinationPath: "made/b.txt" });
    await good("move", { sourcePath: "made/b.txt", destinationPath: "made/c.txt" });
    assert.equal(onDisk("made/c.txt"), onDisk("n/a.txt"));
  });
  await check("list_files, stat_file, get_file_tree, search_files", async () => {
    const { entries } = await good("list_files", { dirPath: "made" });
    assert.deepEqual(
      entries.map((entry) => entry.path),
      ["made/c.txt"],
    );
    assert.equal((await good("stat_file", { path: "made" })).type, "directory");
    assert.match(await good("get_file_tree", { dirPath: ".", maxDepth: 1 }), /^ {2}made\/ \(not opened: maxDepth\)$/m);
    assert.equal((await good("search_files", { name: "c.txt" })).totalMatches, 1);
  });
  await check("extract_archive", async () => {
    assert.equal(
      (await good("extract_archive", { archivePath: "box.zip", destinationPath: "box" })).files,
      1,
    );
    assert.equal(onDisk("box/inside.txt"), "packed");
  });
  await check("delete and undo_changes", async () => {
    await good("delete", { path: "made" });
    const undone = await good("undo_changes", { count: 1 });
    assert.equal(undone.undone[0].outcome, "restored");
    assert.equal(onDisk("made/c.txt"), onDisk("n/a.txt"));
  });
  await check("a tool's refusal is a result, not an exception", async () => {
    const result = await call("read_file", { filePath: "../outside" });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /outside the root/);
  });
  await check("an unknown tool is an error", async () => {
    await assert.rejects(call("no_such_tool", {}), /no_such_tool/);
  });
  await check("pictures come as pictures", async () => {
    const result = await call("read_file", { filePath: "dot.png" });
    assert.equal(result.content[0].type, "image");
  });
  await check("resources are listed, read and completed", async () => {
    const { resources } = await client.request("resources/list", {});
    assert.ok(resources.length > 0);
    const { contents } = await client.request("resources/read", { uri: address("n/a.txt") });
    assert.equal(contents[0].text, onDisk("n/a.txt"));
    const { resourceTemplates } = await client.request("resources/templates/list", {});
    const uri = resourceTemplates[0].uriTemplate;
    const { completion } = await client.request("completion/complete", {
      ref: { type: "ref/resource", uri },
      argument: { name: "path", value: "n/" },
    });
    assert.deepEqual(completion.values, ["n/a.txt"]);
    assert.equal(uri.replace("{+path}", completion.values[0]), address("n/a.txt"));
    await assert.rejects(client.request("resources/read", { uri: "file:///etc/passwd" }));
  });
  await check("a change of a resource is told", async () => {
    let tell;
    const told = new Promise((resolve) => (tell = resolve));
    const end = await client.subscribe(address("n/a.txt"), tell);
    writeFileSync(join(folder, "n/a.txt"), "changed by somebody else\n");
    assert.equal(await told, address("n/a.txt"));
    await end();
  });
  await check("progress comes, and rises", async () => {
    const heard = [];
    const searches = Array.from({ length: SEARCHES }, (_, number) =>
      call(
        "search_files",
        SEARCH,
        { onprogress: ({ progress }) => (heard[number] ??= []).push(progress) },
      ),
    );
    for (const { structuredContent } of await Promise.all(searches))
      assert.equal(structuredContent.totalMatches, FOUND);
    const series = heard.filter(Boolean);
    assert.ok(series.length > 0);
    for (const steps of series)
      assert.deepEqual(
        steps,
        [...steps].sort((a, b) => a - b),
      );
  });
  await check("what is cancelled ends, and the rest goes on", async () => {
    const abort = new AbortController();
    const searches = Array.from({ length: SEARCHES }, () =>
      call("search_files", SEARCH, { signal: abort.signal }),
    );
    const ends = Promise.allSettled(searches);
    abort.abort();
    assert.ok((await ends).some(({ status }) => status === "rejected"));
    assert.equal((await good("read_file", { filePath: "n/a.txt" })).totalLines, 2);
  });
  await check("it ends", () => client.close());
  console.log(`${client.name}: ${checks} checks`);
}
