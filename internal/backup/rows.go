package backup

import (
	"bufio"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
)

// tableSuffix ends the names of members that are tables.
const tableSuffix = ".jsonl"

// maxRow bounds a line of a table in bytes.
const maxRow = 256 << 20

// memberWriter writes a member and counts what the manifest says about it.
type memberWriter struct {
	buf  *bufio.Writer
	hash hash.Hash
	size int64
	rows int64
}

func newMemberWriter(w io.Writer) *memberWriter {
	return &memberWriter{buf: bufio.NewWriterSize(w, 64<<10), hash: sha256.New()}
}

// Write implements io.Writer.
func (c *memberWriter) Write(p []byte) (int, error) {
	n, err := c.buf.Write(p)
	c.hash.Write(p[:n])
	c.size += int64(n)
	return n, err
}

func (c *memberWriter) flush() error      { return c.buf.Flush() }
func (c *memberWriter) hexDigest() string { return hex.EncodeToString(c.hash.Sum(nil)) }

type (
	// bytesValue stands for bytes in a row.
	//
	// A row is a JSON array. Integers are numbers, text is a string and NULL is
	// null. Bytes, and text that is not UTF-8, are objects.
	bytesValue struct {
		Bytes []byte `json:"bytes"`
	}
	// nonUTF8Text stands for text that is not UTF-8, which a JSON string cannot
	// hold.
	nonUTF8Text struct {
		Text []byte `json:"text"`
	}
)

// writeRows writes the names of the columns and then the rows, one line each. It
// returns the number of rows.
func writeRows(w io.Writer, rows *sql.Rows) (n int64, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(columns); err != nil {
		return 0, err
	}
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return n, err
		}
		for i, v := range values {
			if values[i], err = encodeValue(v); err != nil {
				return n, fmt.Errorf("column %s: %w", columns[i], err)
			}
		}
		if err := enc.Encode(values); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// encodeValue returns a column's value in the form in which JSON keeps it
// exactly. Types that the schemas do not use are an error.
func encodeValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nonUTF8Text{[]byte(v)}, nil
		}
		return v, nil
	case []byte:
		return bytesValue{base64Bytes(v)}, nil
	}
	return nil, fmt.Errorf("a %T cannot be copied", v)
}

// base64Bytes returns b, but never nil, which would become null.
func base64Bytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// readRows returns the columns and rows of a member. The rows end with an error
// if a line cannot be read.
func readRows(name string, r io.Reader) ([]string, iter.Seq2[[]any, error], error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxRow)
	var columns []string
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &columns) != nil || len(columns) == 0 {
		return nil, nil, badMemberError(name, 1, lines.Err())
	}
	return columns, func(yield func([]any, error) bool) {
		for n := 2; lines.Scan(); n++ {
			row, err := decodeRow(lines.Bytes())
			if err != nil {
				yield(nil, badMemberError(name, n, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, badMemberError(name, 0, err))
		}
	}, nil
}

// badMemberError names the line of a member that cannot be read.
func badMemberError(name string, line int, err error) error {
	return &junctor.Error{Code: junctor.CodeInvalid, Cause: err, Message: fmt.Sprintf("line %d of %s in the backup cannot be read", line, name)}
}

// decodeRow is the inverse of encodeValue for a whole row.
func decodeRow(line []byte) ([]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	row := make([]any, len(raw))
	for i, value := range raw {
		v, err := decodeValue(value)
		if err != nil {
			return nil, err
		}
		row[i] = v
	}
	return row, nil
}

// decodeValue decodes one column of a row. Byte strings, and texts that are not
// UTF-8, are objects with a base64 member, so that every value survives JSON.
func decodeValue(raw json.RawMessage) (any, error) {
	switch raw[0] {
	case 'n':
		return nil, nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '{':
		var odd struct {
			Bytes, Text *string
		}
		if err := json.Unmarshal(raw, &odd); err != nil {
			return nil, err
		}
		switch {
		case odd.Bytes != nil:
			return base64.StdEncoding.DecodeString(*odd.Bytes)
		case odd.Text != nil:
			b, err := base64.StdEncoding.DecodeString(*odd.Text)
			return string(b), err
		}
		return nil, errors.New("the value is neither bytes nor text")
	}
	var n int64
	err := json.Unmarshal(raw, &n)
	return n, err
}
