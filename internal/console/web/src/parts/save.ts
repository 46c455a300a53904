// save gives a text or bytes to the person as a file.
export function save(name: string, content: BlobPart, type = 'application/yaml') {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
