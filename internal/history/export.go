package history

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Format is how calls are exported.
type Format string

// Formats of an export.
const (
	JSONLines Format = "json" // an object a line
	CSV       Format = "csv"
)

// Export writes the calls that match and that access has, newest first, as they are read:
// however many there are, it holds few of them. The filter's Limit and Cursor
// do not count.
func (h *History) Export(ctx context.Context, w io.Writer, access junctor.CallAccess, f Filter, format Format) error {
	buffered := bufio.NewWriter(w)
	var put func(Entry) error
	switch format {
	case JSONLines:
		enc := json.NewEncoder(buffered)
		enc.SetEscapeHTML(false)
		put = func(e Entry) error { return enc.Encode(e) }
	case CSV:
		enc := csv.NewWriter(buffered)
		if err := enc.Write(csvHeader()); err != nil {
			return writeError(err)
		}
		put = func(e Entry) error {
			if err := enc.Write(csvRow(e)); err != nil {
				return err
			}
			enc.Flush() // into the buffer
			return enc.Error()
		}
		enc.Flush()
	default:
		return junctor.Errorf(junctor.CodeInvalid, "calls are exported as json or csv, not as %q", string(format))
	}
	for f.Limit, f.Cursor = 500, ""; ; {
		page, err := h.Query(ctx, access, f)
		if err != nil {
			return err
		}
		for _, e := range page.Calls {
			if err := put(e); err != nil {
				return writeError(err)
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			break
		}
	}
	if err := buffered.Flush(); err != nil {
		return writeError(err)
	}
	return nil
}

func writeError(err error) error {
	return junctor.Errorf(junctor.CodeUnavailable, "the export could not be written: %w", err)
}

func csvHeader() []string {
	return []string{
		"id", "start", "kind", "door", "server", "name", "version", "issuer", "subject", "user", "agent", "view", "status", "code", "reason",
		"duration_us", "bytes_in", "bytes_out", "params", "result",
	}
}

func csvRow(e Entry) []string {
	row := []string{
		e.ID, e.Start.Format(time.RFC3339Nano), string(e.Kind), string(e.Door), e.Server, e.Name, e.Version, e.Issuer, e.Subject, e.User, e.Agent, e.View,
		string(e.Status), string(e.Code), e.Reason, strconv.FormatInt(e.Duration.Microseconds(), 10), strconv.Itoa(e.BytesIn),
		strconv.Itoa(e.BytesOut), string(e.Params), string(e.Result),
	}
	for i, field := range row {
		row[i] = escapeFormula(field)
	}
	return row
}

// escapeFormula keeps spreadsheets from taking a field for a formula: whatever
// begins like one gets an apostrophe, which they take for "this is text".
func escapeFormula(field string) string {
	// Some skip what cannot be seen before they look.
	seen := strings.TrimLeft(field, " \t\r\n\v\f\u00a0\ufeff\u200b")
	if seen == "" {
		return field
	}
	if strings.ContainsRune("=+-@|＝＋－＠", []rune(seen[:min(len(seen), 4)])[0]) || field[0] == '\t' || field[0] == '\r' {
		return "'" + field
	}
	return field
}
