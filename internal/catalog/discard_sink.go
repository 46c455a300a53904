package catalog

// Discard is the [Sink] of a caller that needs the result alone.
type Discard struct{}

// Progress implements [Sink].
func (Discard) Progress([]byte) {}

// Log implements [Sink].
func (Discard) Log(string, []byte) {}
