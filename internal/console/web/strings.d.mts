// What each screen says, by file.
export function collectStrings(): Map<string, Map<string, Set<string>>>;
