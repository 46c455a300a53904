package clients

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	junctor "github.com/junctor-mcp/junctor"
)

// tomlFormat is the TOML file of Codex, with tables mcp_servers.NAME.
type tomlFormat struct{}

// codexTable is the name of the table of servers.
const codexTable = "mcp_servers"

// readTOML decodes the tables mcp_servers.NAME of Codex's file.
func readTOML(text []byte) ([]rawEntry, error) {
	all, err := decodeServerTables(text)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the file is not valid TOML, or its mcp_servers is not a table%s", describeLine(err))
	}
	found := make([]rawEntry, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		members, ok := all[name].(map[string]any)
		found = append(found, rawEntry{name: name, container: []string{codexTable}, members: members, notObject: !ok})
	}
	return found, nil
}

// decodeServerTables returns the table mcp_servers, which is nil if the file has none.
func decodeServerTables(text []byte) (map[string]any, error) {
	file := map[string]any{}
	if _, err := toml.Decode(string(text), &file); err != nil {
		return nil, err
	}
	servers, ok := file[codexTable].(map[string]any)
	if !ok && file[codexTable] != nil {
		return nil, errors.New("mcp_servers is not a table")
	}
	return servers, nil
}

// describeLine returns the line of a syntax error as the end of a message. The error's
// own text is not used: it quotes the file, which may contain credentials.
func describeLine(err error) string {
	if at, ok := errors.AsType[toml.ParseError](err); ok && at.Position.Line > 0 {
		return fmt.Sprintf(": see line %d", at.Position.Line)
	}
	return ""
}

// The table of Junctor is at the end of the file, between these two lines. They mark
// what is removed with it; the rest of the file stays as it is, to the byte.
const (
	tableBegin = "# Junctor: begin\n"
	tableEnd   = "# Junctor: end\n"
)

// errNoTable is returned for a file in which mcp_servers is an inline table. TOML does
// not allow adding a table to one.
var errNoTable = errors.New("its mcp_servers has a form to which no table can be added; write each server as [mcp_servers.NAME]")

// place implements fileFormat.
func (tomlFormat) place([]byte) Place { return Place{[]string{codexTable}, EntryName} }

// setEntry implements fileFormat. The table is added at the end of the file. The result
// is decoded again and compared before it is returned: TOML has several forms in which
// mcp_servers cannot be extended by a table, and not all of them are syntax errors.
func (tomlFormat) setEntry(text []byte, t Target) ([]byte, error) {
	text, _ = removeMarkedTable(text)
	before, err := decodeServerTables(text)
	if err != nil {
		return nil, errors.New("it is not valid TOML" + describeLine(err))
	}
	if before[EntryName] != nil {
		return nil, errors.New("it has a table mcp_servers.junctor that Junctor did not add; remove it first")
	}
	args := make([]string, len(t.Command)-1)
	for i, a := range t.Command[1:] {
		args[i] = quoteJSON(a)
	}
	table := tableBegin + "[" + codexTable + "." + EntryName + "]\ncommand = " + quoteJSON(t.Command[0]) + "\nargs = [" + strings.Join(args, ", ") + "]\n"
	if !t.Shared {
		table += "env = { JUNCTOR_KEY = " + quoteJSON(t.Key) + " }\n"
	}
	return appendTable(text, before, EntryName, table+tableEnd)
}

// appendTable returns the text with a table of mcp_servers at its end. before is what
// the text has of that table.
func appendTable(text []byte, before map[string]any, name, table string) ([]byte, error) {
	if regexp.MustCompile(`(?m)^\s*["']?mcp_servers["']?\s*=`).Match(text) {
		return nil, errNoTable
	}
	var b bytes.Buffer
	b.Write(text)
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		b.WriteByte('\n')
	}
	b.WriteString(table)
	after, err := decodeServerTables(b.Bytes())
	if err != nil || after[name] == nil || len(after) != len(before)+1 {
		return nil, errNoTable
	}
	return b.Bytes(), nil
}

// removeMarkedTable returns the text without the table of Junctor and the lines that mark
// it, and whether there was one.
func removeMarkedTable(text []byte) ([]byte, bool) {
	from := bytes.Index(text, []byte(tableBegin))
	if from < 0 {
		return text, false
	}
	to := bytes.Index(text[from:], []byte(tableEnd))
	if to < 0 {
		return text, false
	}
	return append(append([]byte{}, text[:from]...), text[from+to+len(tableEnd):]...), true
}

// cutEntry implements fileFormat. It removes the tables [mcp_servers.NAME] and those
// below it, each up to the next table. A server in another form, such as an inline table,
// is an error: the user has to remove it.
func (tomlFormat) cutEntry(text []byte, at Place) (next, piece []byte, err error) {
	before, err := decodeServerTables(text)
	if err != nil {
		return nil, nil, errors.New("it is not valid TOML" + describeLine(err))
	}
	if before[at.Name] == nil {
		return text, nil, nil
	}
	if marked, found := removeMarkedTable(text); found && at.Name == EntryName {
		return marked, []byte(EntryName), nil
	}
	inside := false
	for line := range bytes.Lines(text) {
		if path, ok := parseTableHeader(line); ok {
			inside = len(path) >= 2 && path[0] == codexTable && path[1] == at.Name
		}
		if inside && !bytes.Equal(line, []byte(tableBegin)) {
			piece = append(piece, line...)
		} else {
			inside = false
			next = append(next, line...)
		}
	}
	after, err := decodeServerTables(next)
	delete(before, at.Name)
	if err != nil || !reflect.DeepEqual(before, after) && len(before)+len(after) > 0 || len(piece) == 0 {
		return nil, nil, fmt.Errorf("the server %s is not written as a table [mcp_servers.%s] of its own; remove it by hand", at.Name, at.Name)
	}
	return next, piece, nil
}

// parseTableHeader returns the names in a line [a."b".c] or [[a.b]]. The result is false
// for any other line.
func parseTableHeader(line []byte) (path []string, ok bool) {
	line = bytes.TrimSpace(line)
	if !bytes.HasPrefix(line, []byte("[")) {
		return nil, false
	}
	table := map[string]any{}
	if _, err := toml.Decode(string(line), &table); err != nil {
		return nil, false
	}
	for len(table) == 1 {
		for name, value := range table {
			path = append(path, name)
			table, _ = value.(map[string]any)
			if list, ok := value.([]map[string]any); ok && len(list) == 1 {
				table = list[0]
			}
		}
	}
	return path, true
}

// pasteEntry implements fileFormat.
func (tomlFormat) pasteEntry(text []byte, at Place, piece []byte) ([]byte, error) {
	before, err := decodeServerTables(text)
	if err != nil {
		return nil, errors.New("it is not valid TOML" + describeLine(err))
	}
	return appendTable(text, before, at.Name, string(piece))
}
