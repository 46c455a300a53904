package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// printJSON writes v to standard output, for programs. HTML characters are not
// escaped, since people read the output too.
func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printNote writes a line to standard error, for people. Programs must not
// depend on it.
func (c *cli) printNote(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// printTable writes rows in columns under a heading. It changes the cells of
// rows so that each fits on one line.
func (c *cli) printTable(heading []string, rows [][]string) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(heading, "\t"))
	for _, row := range rows {
		for i := range row {
			row[i] = toCell(row[i])
		}
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// printList requests a list of the admin API and prints it: as JSON to
// programs, and as a table to people. row returns the cells of an item.
func printList[T any](c *cli, cmd *cobra.Command, path string, heading []string, row func(T) []string) error {
	var items listPage[T]
	if err := c.requestAPI(cmd, http.MethodGet, path, nil, &items); err != nil {
		return err
	}
	if c.wantsJSON() {
		return c.printJSON(items)
	}
	rows := make([][]string, len(items.Items))
	for i, item := range items.Items {
		rows[i] = row(item)
	}
	return c.printTable(heading, rows)
}

// printFacts writes names and values in two columns. pairs alternates both; a
// pair with an empty value is left out.
func (c *cli) printFacts(pairs ...string) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(tw, "%s\t%s\n", pairs[i], toCell(pairs[i+1]))
		}
	}
	return tw.Flush()
}

// toCell returns a text for one cell: on one line, and without control
// characters.
func toCell(s string) string {
	return strings.Join(strings.Fields(stripControls(s)), " ")
}

// stripControls removes the characters that a terminal would obey instead of
// showing, such as escape sequences and changes of direction. Names,
// descriptions and results come from servers that need not be trustworthy, so
// every text of theirs passes through here.
func stripControls(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}

// firstLine returns the first line of s, cut to width characters.
func firstLine(s string, width int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// formatTime returns a time in the local zone, for people; "" for the zero
// time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// usesColour reports whether w is a terminal whose user has not asked for plain
// text (NO_COLOR, TERM=dumb).
func (c *cli) usesColour(w io.Writer) bool {
	if c.getenv("NO_COLOR") != "" || c.getenv("TERM") == "dumb" {
		return false
	}
	return isTerminal(w)
}

// isTerminal reports whether a reader or writer is a terminal. A person can
// then be asked. The null device is a character device too, and no terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	// The null device is a character device too, and nobody reads it.
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// The colours are those of the terminal's own palette, so that they are
// readable on any background.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
)

// colourText returns s in a colour if standard output shows colours.
func (c *cli) colourText(colour, s string) string {
	if !c.usesColour(c.out) {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}
