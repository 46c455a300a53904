package cli

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
)

// overrideFlag is the flag of a field of junctor.Override. Its values are TOOL=value, and
// TOOL alone for a field that is true or false.
type overrideFlag struct {
	field junctor.Field
	lines []string
}

// Set implements pflag.Value. The value is checked at once, so that the error names the
// flag.
func (f *overrideFlag) Set(line string) error {
	var o junctor.Override
	if err := f.apply(&o, line); err != nil {
		return err
	}
	f.lines = append(f.lines, line)
	return nil
}

// split returns the tool of a line and the text for the field.
func (f *overrideFlag) split(line string) (tool, text string, err error) {
	tool, text, ok := strings.Cut(line, "=")
	if !ok && isBoolean(f.field.Type) {
		text, ok = "true", true
	}
	if tool = strings.TrimSpace(tool); tool == "" || !ok {
		return "", "", fmt.Errorf("write it as %s", f.Type())
	}
	return tool, text, nil
}

// apply sets the field of o to what a line says.
func (f *overrideFlag) apply(o *junctor.Override, line string) error {
	_, text, err := f.split(line)
	if err != nil {
		return err
	}
	return (&fieldFlag{field: f.field, to: f.field.In(o)}).Set(text)
}

// isBoolean reports whether a field is true or false, or may be.
func isBoolean(t reflect.Type) bool {
	return t.Kind() == reflect.Bool || t == reflect.TypeFor[*bool]()
}

// String implements pflag.Value.
func (f *overrideFlag) String() string { return "" }

// Type implements pflag.Value: what help calls the value of the flag.
func (f *overrideFlag) Type() string {
	_, value := f.field.Flag()
	return value
}

// overrideFlags are the flags of the fields of junctor.Override.
type overrideFlags struct{ all []*overrideFlag }

// addTo adds a flag for each field that has one.
func (f *overrideFlags) addTo(cmd *cobra.Command) {
	for _, field := range junctor.Fields(junctor.Override{}) {
		name, _ := field.Flag()
		if name == "" {
			continue
		}
		one := &overrideFlag{field: field}
		f.all = append(f.all, one)
		undo := "TOOL= reverts it"
		if field.Type.Kind() == reflect.Bool {
			undo = "TOOL=false reverts it"
		}
		if field.Type.Kind() == reflect.Pointer {
			undo = "TOOL=false states the contrary, and TOOL= nothing"
		}
		cmd.Flags().Var(one, name, flagHelp(field)+"; "+undo+". Repeatable")
	}
}

// given reports whether a flag was given.
func (f *overrideFlags) given() bool {
	return slices.ContainsFunc(f.all, func(one *overrideFlag) bool { return len(one.lines) > 0 })
}

// applyTo returns the overrides of a server with the changes that the flags make. names
// are the names of its tools; a tool that is neither among them nor has an override is a
// usage error. nil accepts any name.
func (f *overrideFlags) applyTo(former map[string]junctor.Override, names []string) (map[string]junctor.Override, error) {
	out := maps.Clone(former)
	if out == nil {
		out = map[string]junctor.Override{}
	}
	for _, one := range f.all {
		flag, _ := one.field.Flag()
		for _, line := range one.lines {
			tool, _, err := one.split(line)
			if err != nil {
				return nil, err
			}
			o, known := out[tool]
			if own := renamedTool(former, tool); own != "" && !known && !slices.Contains(names, tool) {
				return nil, usageErrorf("--%s: %q is the name that clients see; the server calls the tool %q: use --%s %s", flag, tool, own, flag, own+strings.TrimPrefix(line, tool))
			}
			if !known && names != nil && !slices.Contains(names, tool) {
				return nil, usageErrorf("--%s: the server has no tool %q; its tools are %s", flag, tool, strings.Join(names, ", "))
			}
			if err := one.apply(&o, line); err != nil {
				return nil, err
			}
			if out[tool] = o; o.IsZero() {
				delete(out, tool)
			}
		}
	}
	return out, nil
}

// renamedTool returns the server's own name of the tool that an override gives this name; ""
// if none does.
func renamedTool(overrides map[string]junctor.Override, name string) string {
	for _, own := range slices.Sorted(maps.Keys(overrides)) {
		if overrides[own].Name == name {
			return own
		}
	}
	return ""
}

// ownToolNames returns the names that a server itself gives its tools, hidden ones included;
// nil if the server was not reached. The instance lists the visible ones by the names that
// clients see.
func ownToolNames(s *admin.ServerDetail) []string {
	if len(s.Tools) == 0 && (s.Diagnostics == nil || !s.Diagnostics.Connected) {
		return nil
	}
	names := []string{}
	for _, name := range s.Tools {
		names = append(names, cmp.Or(renamedTool(s.Overrides, name), name))
	}
	for own, o := range s.Overrides {
		if o.Hide {
			names = append(names, own)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// describeOverrides returns the hidden tools, by the server's own names, and the renamed
// ones as own=new.
func describeOverrides(overrides map[string]junctor.Override) (hidden, renamed string) {
	var hides, renames []string
	for _, own := range slices.Sorted(maps.Keys(overrides)) {
		if overrides[own].Hide {
			hides = append(hides, own)
		}
		if name := overrides[own].Name; name != "" {
			renames = append(renames, own+"="+name)
		}
	}
	return strings.Join(hides, ", "), strings.Join(renames, ", ")
}
