// SPDX-License-Identifier: Apache-2.0
// Unpacks an archive with @openclaw/fs-safe: node extract.mjs ARCHIVE DESTINATION
import { extractArchive } from "@openclaw/fs-safe/archive";

const [archivePath, destDir] = process.argv.slice(2);
const start = process.hrtime.bigint();
await extractArchive({ archivePath, destDir, timeoutMs: 600_000 });
console.log(Number(process.hrtime.bigint() - start) / 1e6);
