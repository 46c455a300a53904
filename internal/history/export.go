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

// Format is the file format of an export.
type Format string

// The formats of an export.
const (
	FormatJSONLines Format = "json" // one JSON object per line
	FormatCSV       Format = "csv"
)

// Export writes the calls that match f and that access may see, newest first. It
// reads page by page, so memory use does not depend on the number of calls. It
// ignores the filter's Limit and Cursor. An unknown format is CodeInvalid.
func (h *History) Export(ctx context.Context, w io.Writer, access junctor.CallAccess, f Filter, format Format) error {
	buffered := bufio.NewWriter(w)
	var put func(Entry) error
	switch format {
	case FormatJSONLines:
		enc := json.NewEncoder(buffered)
		enc.SetEscapeHTML(false)
		put = func(e Entry) error { return enc.Encode(e) }
	case FormatCSV:
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
		page, err := h.exportPage(ctx, &access, &f)
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

// exportPage is Query for an export. It is a search even if it reads no more calls than
// it returns, because it reads all of them one page after another, and it waits for its
// turn however long that takes.
func (h *History) exportPage(ctx context.Context, access *junctor.CallAccess, f *Filter) (Page, error) {
	s, err := h.newScan(access, f)
	if err != nil {
		return Page{}, err
	}
	release, err := h.awaitSearch(ctx, 0)
	if err != nil {
		return Page{}, err
	}
	defer release()
	return s.run(ctx)
}

// writeError is a failure to write to the receiver of an export. It is not an
// error of the history.
func writeError(err error) error {
	return junctor.Errorf(junctor.CodeUnavailable, "the export could not be written: %w", err)
}

// csvHeader returns the names of the columns, in the order of csvRow.
func csvHeader() []string {
	return []string{
		"id", "start", "kind", "entry_point", "server", "name", "version", "issuer", "subject", "user", "agent", "view", "status", "code", "reason",
		"duration_us", "bytes_in", "bytes_out", "params", "result",
	}
}

// csvRow returns the fields of a call, safe to open in a spreadsheet.
func csvRow(e Entry) []string {
	row := []string{
		e.ID, e.Start.Format(time.RFC3339Nano), string(e.Kind), string(e.EntryPoint), e.Server, e.Name, e.Version, e.Issuer, e.Subject, e.User, e.Agent, e.View,
		string(e.Status), string(e.Code), e.Reason, strconv.FormatInt(e.Duration.Microseconds(), 10), strconv.Itoa(e.BytesIn),
		strconv.Itoa(e.BytesOut), string(e.Params), string(e.Result),
	}
	for i, field := range row {
		row[i] = escapeFormula(field)
	}
	return row
}

// escapeFormula keeps spreadsheets from running a field as a formula. A field
// that begins like one gets an apostrophe, which marks text.
func escapeFormula(field string) string {
	// Some spreadsheets skip invisible characters before they decide.
	seen := strings.TrimLeft(field, " \t\r\n\v\f\u00a0\ufeff\u200b")
	if seen == "" {
		return field
	}
	if strings.ContainsRune("=+-@|＝＋－＠", []rune(seen[:min(len(seen), 4)])[0]) || field[0] == '\t' || field[0] == '\r' {
		return "'" + field
	}
	return field
}
