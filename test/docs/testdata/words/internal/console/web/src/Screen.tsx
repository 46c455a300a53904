// A gate in a comment is no label.
export function Screen() {
  return (
    <Panel title="The gate of a call">
      <p>Choose a gate</p>
      <p>
        All gates
      </p>
      <Row gate={gate} />
    </Panel>
  );
}
