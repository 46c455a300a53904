package clients

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	junctor "github.com/junctor-mcp/junctor"
)

// readTOML reads the tables mcp_servers.NAME of Codex's file.
func readTOML(text []byte) ([]entry, error) {
	all, err := tables(text)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the file is not TOML, or its mcp_servers are no table%s", lineOf(err))
	}
	found := make([]entry, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		members, ok := all[name].(map[string]any)
		found = append(found, entry{name: name, members: members, odd: !ok})
	}
	return found, nil
}

func tables(text []byte) (map[string]any, error) {
	file := map[string]any{}
	if _, err := toml.Decode(string(text), &file); err != nil {
		return nil, err
	}
	servers, ok := file["mcp_servers"].(map[string]any)
	if !ok && file["mcp_servers"] != nil {
		return nil, errors.New("mcp_servers is no table")
	}
	return servers, nil
}

// lineOf says where TOML broke off, without what stands there.
func lineOf(err error) string {
	if at, ok := errors.AsType[toml.ParseError](err); ok && at.Position.Line > 0 {
		return fmt.Sprintf(": see line %d", at.Position.Line)
	}
	return ""
}

// Junctor's own table stands at the end of the file, between two lines that tell
// it from everything else, which stays as it is to the byte.
const (
	tableBegin = "# Junctor: begin\n"
	tableEnd   = "# Junctor: end\n"
)

var errNoTable = errors.New("its mcp_servers are written in a form that no table can be added to; write each as [mcp_servers.NAME]")

// withTable puts the table at the end of a file. What comes out is read again
// before it is believed: a table cannot stand beside every form of mcp_servers.
func withTable(text []byte, t Target) ([]byte, error) {
	text, _ = withoutTable(text)
	before, err := tables(text)
	if err != nil {
		return nil, errors.New("it is not TOML" + lineOf(err))
	}
	if regexp.MustCompile(`(?m)^\s*["']?mcp_servers["']?\s*=`).Match(text) {
		return nil, errNoTable // nothing can be added to what stands in braces
	}
	if before[EntryName] != nil {
		return nil, errors.New("it has a table mcp_servers.junctor that was put there by hand; remove it first")
	}
	var b bytes.Buffer
	b.Write(text)
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		b.WriteByte('\n')
	}
	args := make([]string, len(t.Command)-1)
	for i, a := range t.Command[1:] {
		args[i] = quote(a)
	}
	b.WriteString(tableBegin + "[mcp_servers." + EntryName + "]\ncommand = " + quote(t.Command[0]) + "\nargs = [" + strings.Join(args, ", ") + "]\n" +
		"env = { JUNCTOR_KEY = " + quote(t.Key) + " }\n" + tableEnd)
	after, err := tables(b.Bytes())
	if err != nil || after[EntryName] == nil || len(after) != len(before)+1 {
		return nil, errNoTable
	}
	return b.Bytes(), nil
}

func withoutTable(text []byte) ([]byte, bool) {
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
