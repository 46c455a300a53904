package a2ui

import (
	"bytes"
	"encoding/json"
)

// numbers decodes JSON and leaves numbers as they are written.
func numbers(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}
