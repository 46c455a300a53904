package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// fieldFlag is the flag of a junctor.Field. It sets the field in a struct, and refuses what
// the field's tags do not allow; the error names the flag.
type fieldFlag struct {
	field junctor.Field
	to    reflect.Value

	// lines are the values of a map, name and value in each. A value may be a secret to
	// read, so fieldFlags.readMaps parses them when the command runs.
	lines []string
}

// Set implements pflag.Value.
func (f *fieldFlag) Set(text string) error {
	v := reflect.New(f.field.Type).Elem()
	if v.Type() == reflect.TypeFor[junctor.Duration]() {
		var d junctor.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			return err
		}
		return f.setTo(reflect.ValueOf(d))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		is, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("must be true or false")
		}
		v.SetBool(is)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("must be a whole number")
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("must be a number")
		}
		v.SetFloat(n)
	case reflect.Slice:
		if text != "" { // nothing empties a list
			v.Set(reflect.AppendSlice(v, f.to))
			v.Set(reflect.Append(v, reflect.ValueOf(text)))
		}
	case reflect.Pointer:
		if text != "" && v.Type() == reflect.TypeFor[*bool]() { // else nothing is stated
			is, err := strconv.ParseBool(text)
			if err != nil {
				return fmt.Errorf("must be true or false")
			}
			v.Set(reflect.ValueOf(&is))
		}
	case reflect.Map:
		f.lines = append(f.lines, text)
		return nil
	default:
		return fmt.Errorf("a %s cannot be given as a flag", f.field.Type)
	}
	return f.setTo(v)
}

// setTo sets the field to a value that its tags allow.
func (f *fieldFlag) setTo(v reflect.Value) error {
	if err := f.field.Check(v); err != nil {
		return err
	}
	f.to.Set(v)
	return nil
}

// String implements pflag.Value. Help shows no default, since the description has it.
func (f *fieldFlag) String() string { return "" }

// Type implements pflag.Value: what help calls the value of the flag.
func (f *fieldFlag) Type() string {
	if _, value := f.field.Flag(); value != "" {
		return value
	}
	return f.field.Type.Kind().String()
}

// fieldFlags are the flags of the fields of one struct.
type fieldFlags struct {
	all []*fieldFlag
}

// addTo adds a flag for each field of a struct that has one, but for those that are left
// out. to points to the struct.
func (f *fieldFlags) addTo(cmd *cobra.Command, to any, leftOut func(flag string) bool) {
	for _, field := range junctor.Fields(to) {
		name, _ := field.Flag()
		if name == "" || leftOut(name) {
			continue
		}
		one := &fieldFlag{field: field, to: field.In(to)}
		f.all = append(f.all, one)
		flag := cmd.Flags().VarPF(one, name, "", flagHelp(field))
		if field.Type.Kind() == reflect.Bool {
			flag.NoOptDefVal = "true"
		}
	}
}

// noFlag leaves no flag out.
func noFlag(string) bool { return false }

// flagHelp is the description of a field as the help of its flag.
func flagHelp(f junctor.Field) string {
	doc := strings.TrimSuffix(f.Doc(), ".")
	if doc != "" && doc[0] >= 'A' && doc[0] <= 'Z' {
		doc = strings.ToLower(doc[:1]) + doc[1:]
	}
	switch f.Type.Kind() {
	case reflect.Map:
		return doc + ". The value may be @file, - for standard input, or a reference. Repeatable"
	case reflect.Slice:
		return doc + ". Repeatable"
	default:
		return doc
	}
}

// readMaps reads the values of maps, and the secrets that they refer to.
func (f *fieldFlags) readMaps(c *cli) error {
	for _, one := range f.all {
		if len(one.lines) == 0 {
			continue
		}
		separator := "="
		if one.field.Names() == "header" {
			separator = ":"
		}
		name, _ := one.field.Flag()
		pairs, err := c.readPairs(name, separator, one.lines)
		if err != nil {
			return err
		}
		one.to.Set(reflect.ValueOf(pairs))
	}
	return nil
}

// addGiven adds the fields whose flags were given to a change, by their names in the API.
func (f *fieldFlags) addGiven(cmd *cobra.Command, change map[string]any) {
	for _, one := range f.all {
		if name, _ := one.field.Flag(); cmd.Flags().Changed(name) {
			change[one.field.Name] = one.to.Interface()
		}
	}
}
