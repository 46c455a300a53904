package a2ui

import (
	"bytes"
	"encoding/json"
)

// decodeWithNumbers decodes JSON and keeps numbers as they are written, so that
// large ids and decimal amounts pass unchanged.
func decodeWithNumbers(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}
