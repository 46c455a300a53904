package junctor

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Field is one member of a noun such as Connection or Trigger, as its struct tags describe
// it. The settings file, the API, diffs, the command line and the console read these tags,
// so that a new field is written in one place. The tags are:
//
//	json       its name, everywhere
//	doc        its description, in the API and in the help of its flag
//	enum       the words that it can be; the empty value is allowed too
//	minimum    the smallest number, and maximum the largest
//	shortest   the shortest duration, and longest the longest
//	empty      the word that the empty value stands for
//	flag       its flag on the command line; a second word names the flag's value
//	text       what a text has to be: url
//	names      what the keys of a map have to be: header or variable
//	reconnect  no: a change of it keeps the connection; without the tag it does not
//	file       key: it is the key of the noun in a file that declares it; no: such a file does not have it
//	public     true: every user who sees the server may read it; without the tag only its owner and admins
//
// A forgotten tag errs on the safe side: the server is connected anew, and the value is
// not shown.
type Field struct {
	Name string // from the tag json
	Type reflect.Type

	index []int
	tag   reflect.StructTag
}

// Fields lists the members of a struct, or of the struct that a pointer points to, in
// their order. Members of embedded structs are among them; those without a name in JSON
// are not.
func Fields(of any) []Field { return appendFields(nil, structType(of), nil) }

// structType returns the type of a struct, or of the struct that a pointer points to.
func structType(of any) reflect.Type {
	t := reflect.TypeOf(of)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// appendFields adds the fields of t to out. index leads to t from the outermost struct.
func appendFields(out []Field, t reflect.Type, index []int) []Field {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = appendFields(out, f.Type, at)
		case name != "" && name != "-":
			out = append(out, Field{Name: name, Type: f.Type, index: at, tag: f.Tag})
		}
	}
	return out
}

// DeclaredPart returns a copy of a noun with what a file declares of it: its key and the
// members that a file has.
func DeclaredPart[T any](of T) T {
	var out T
	for _, f := range Fields(of) {
		if f.tag.Get("file") != "no" {
			f.In(&out).Set(f.In(of))
		}
	}
	return out
}

// FindField returns the field of a struct that has a name in JSON.
func FindField(of any, name string) (Field, bool) {
	all := Fields(of)
	i := slices.IndexFunc(all, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return all[i], true
}

// In returns the value that the field has in a struct. It can be set if of is a pointer.
func (f Field) In(of any) reflect.Value {
	return reflect.Indirect(reflect.ValueOf(of)).FieldByIndex(f.index)
}

// Doc returns the description of the field; "" if it has none.
func (f Field) Doc() string { return f.tag.Get("doc") }

// Words returns the words that the field can be; nil for any.
func (f Field) Words() []string {
	if words := f.tag.Get("enum"); words != "" {
		return strings.Split(words, ",")
	}
	return nil
}

// Flag returns the name of the field's flag, and what its value is called in help. Both
// are "" if there is none.
func (f Field) Flag() (name, value string) {
	name, value, _ = strings.Cut(f.tag.Get("flag"), " ")
	return name, value
}

// IsURL reports whether the field is an address.
func (f Field) IsURL() bool { return f.tag.Get("text") == "url" }

// Names returns what the keys of a map are: header or variable; "" for any text.
func (f Field) Names() string { return f.tag.Get("names") }

// InFile reports whether a file that declares the noun has the field as a member.
func (f Field) InFile() bool { return f.tag.Get("file") == "" }

// Optional reports whether the field is left out of JSON if it is empty.
func (f Field) Optional() bool { return strings.Contains(f.tag.Get("json"), ",omit") }

// Reconnects reports whether a server is connected anew when the field changes.
func (f Field) Reconnects() bool { return f.tag.Get("reconnect") != "no" }

// Public reports whether every user who sees a server may read the field.
func (f Field) Public() bool { return f.tag.Get("public") == "true" }

// Check refuses a value of the field, which is that of one struct, if it is not one of
// its words or not within its bounds. A value that is empty is always allowed.
func (f Field) Check(v reflect.Value) error {
	switch {
	case v.IsZero():
	case v.Kind() == reflect.String:
		if words := f.Words(); words != nil && !slices.Contains(words, v.String()) {
			return Errorf(CodeInvalid, "unknown %s %q; use %s", f.Name, v.String(), orList(words))
		}
	case v.Type() == reflect.TypeFor[Duration]():
		return f.checkDuration(Duration(v.Int()))
	case v.CanInt():
		return f.checkBounds(float64(v.Int()))
	case v.CanFloat():
		return f.checkBounds(v.Float())
	}
	return nil
}

// checkDuration refuses a duration that is not within the tags shortest and longest. Both
// have a unit.
func (f Field) checkDuration(d Duration) error {
	least, err := ParseDuration(f.tag.Get("shortest"))
	if err != nil {
		return err
	}
	most, err := ParseDuration(f.tag.Get("longest"))
	if err != nil {
		return err
	}
	if d < least || d > most {
		return Errorf(CodeInvalid, "%s must be between %s and %s", f.Name, least, most)
	}
	return nil
}

// checkBounds refuses a number that is not within the tags minimum and maximum.
func (f Field) checkBounds(n float64) error {
	least, err := strconv.ParseFloat(f.tag.Get("minimum"), 64)
	bounded := err == nil
	most, err := strconv.ParseFloat(f.tag.Get("maximum"), 64)
	switch {
	case bounded && err == nil && !(n >= least && n <= most): // NaN is neither
		return Errorf(CodeInvalid, "%s must be between %s and %s", f.Name, f.tag.Get("minimum"), f.tag.Get("maximum"))
	case bounded && !(n >= least):
		return Errorf(CodeInvalid, "%s must be at least %s", f.Name, f.tag.Get("minimum"))
	}
	return nil
}

// CheckFields checks each field of a struct by its tags.
func CheckFields(of any) error {
	v := reflect.Indirect(reflect.ValueOf(of))
	return checkStruct(v)
}

// checkStruct is CheckFields. It reads the tags of fields that are set alone, since calls
// of endpoints that are no server are checked with it one by one.
func checkStruct(v reflect.Value) error {
	t := v.Type()
	for i := range t.NumField() {
		f, member := t.Field(i), v.Field(i)
		if member.IsZero() {
			continue
		}
		if f.Anonymous {
			if err := checkStruct(member); err != nil {
				return err
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if err := (Field{Name: name, Type: f.Type, tag: f.Tag}).Check(member); err != nil {
			return err
		}
	}
	return nil
}

// DifferentFields lists the fields that have another value in a than in b, two structs of
// one type. An empty list or map is the same as none, and an empty text the same as the
// word that it stands for.
func DifferentFields(a, b any) (out []Field) {
	for _, f := range Fields(a) {
		if !f.sameValue(f.In(a), f.In(b)) {
			out = append(out, f)
		}
	}
	return out
}

// sameValue compares two values of the field.
func (f Field) sameValue(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Map, reflect.Slice:
		if a.Len() == 0 && b.Len() == 0 {
			return true
		}
	case reflect.String:
		empty := f.tag.Get("empty")
		word := func(v reflect.Value) string {
			if v.Len() == 0 {
				return empty
			}
			return v.String()
		}
		return word(a) == word(b)
	default: // compared as it is
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// orList writes words as a choice: a, b or c.
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
