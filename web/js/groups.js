// What people call the groups of tools.
export const GROUPS = { read: "Read files", write: "Change files", shell: "Commands", browser: "Browser", screen: "Screen and input", other: "Other tools" };

export const groupsText = (groups) =>
  groups.length === Object.keys(GROUPS).length ? "Everything" : groups.map((group) => GROUPS[group] ?? group).join(", ");
