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

// printJSON writes v to standard output, for programs.
func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// say talks to the person, on standard error, where no program reads.
func (c *cli) say(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// table writes rows under a heading, in columns.
func (c *cli) table(heading []string, rows [][]string) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(heading, "\t"))
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// printList asks the API for a list and shows it: as it came to programs, as a
// table to people.
func printList[T any](c *cli, cmd *cobra.Command, path string, heading []string, row func(T) []string) error {
	var items list[T]
	if err := c.ask(cmd, http.MethodGet, path, nil, &items); err != nil {
		return err
	}
	if c.json() {
		return c.printJSON(items)
	}
	rows := make([][]string, len(items.Items))
	for i, item := range items.Items {
		rows[i] = row(item)
	}
	return c.table(heading, rows)
}

// facts writes names and values, leaving out the empty ones.
func (c *cli) facts(pairs ...string) error {
	tw := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(tw, "%s\t%s\n", pairs[i], cell(pairs[i+1]))
		}
	}
	return tw.Flush()
}

// cell makes text fit for one cell: one line, and nothing a terminal obeys.
func cell(s string) string {
	return strings.Join(strings.Fields(printable(s)), " ")
}

// printable drops what a terminal would obey instead of show. Names,
// descriptions and results come from servers that nobody here has to trust.
func printable(s string) string {
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

// firstLine is the first line of s, cut to width characters.
func firstLine(s string, width int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// moment is a time for people; "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// colourful says whether w is a terminal whose user has not asked for plain text.
func (c *cli) colourful(w io.Writer) bool {
	if c.getenv("NO_COLOR") != "" || c.getenv("TERM") == "dumb" {
		return false
	}
	return isTerminal(w)
}

// isTerminal says whether a person sits at a reader or a writer.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Colours of the terminal's own palette.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
)

func (c *cli) paint(colour, s string) string {
	if !c.colourful(c.out) {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}
