// setTitle names the tab of the browser: what is shown, and the list that it is from.
export function setTitle(...parts: (string | undefined)[]): void {
  document.title = [...parts, 'Junctor'].filter(Boolean).join(' · ');
}
