package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/junctor-mcp/junctor/internal/config"
)

// fieldAnnotation is the annotation of flags whose name differs from that of
// the API field that they set. fieldFlag and overrideFlag need none.
const fieldAnnotation = "field"

// setField notes that a flag of a command sets fields of the API with other
// names, so that errors of the API can name the flag.
func setField(cmd *cobra.Command, flag string, fields ...string) {
	_ = cmd.Flags().SetAnnotation(flag, fieldAnnotation, fields)
}

// nameFlags replaces the names of API fields in the message of an error by the
// flags of the command that was run. A user of the command line cannot set a
// field, only a flag.
func nameFlags(cmd *cobra.Command, message string) string {
	fields, overrides := flagsByField(cmd)
	name := func(field string) (string, bool) {
		flag, ok := fields[field]
		return "--" + flag, ok
	}
	// The place of a fault in the body of a request.
	message = regexp.MustCompile(`\((?:body|query)((?:/[^/()\s]+)+)\)`).ReplaceAllStringFunc(message, func(place string) string {
		for _, part := range slices.Backward(strings.Split(strings.Trim(place, "()"), "/")) {
			if flag, ok := name(part); ok {
				return "(" + flag + ")"
			}
		}
		return place
	})
	message = regexp.MustCompile(`\boverrides\.([\w-]+)\.([a-z_]+)\b`).ReplaceAllStringFunc(message, func(place string) string {
		part := strings.Split(place, ".")
		if flag, ok := overrides[part[2]]; ok {
			return "--" + flag + " " + part[1]
		}
		return place
	})
	// A word with an underscore is the name of a field. Any other word may be
	// prose, unless the message begins with it as the place of the mistake.
	message = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`).ReplaceAllStringFunc(message, func(word string) string {
		if flag, ok := name(word); ok {
			return flag
		}
		if flag, ok := overrides[word]; ok {
			return "--" + flag
		}
		return word
	})
	if field, rest, ok := strings.Cut(message, ": "); ok {
		if flag, ok := name(field); ok {
			return flag + ": " + rest
		}
	}
	return message
}

// flagsByField returns the flags of a command by the names of the API fields
// that they set, and those that set a field of an override. Without an
// annotation, the name of a flag is that of its field.
func flagsByField(cmd *cobra.Command) (fields, overrides map[string]string) {
	fields, overrides = map[string]string{}, map[string]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Value.(*overrideFlag); !ok {
			fields[strings.ReplaceAll(f.Name, "-", "_")] = f.Name
		}
	})
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch value := f.Value.(type) {
		case *fieldFlag:
			fields[value.field.Name] = f.Name
		case *overrideFlag:
			overrides[value.field.Name] = f.Name
		}
		for _, field := range f.Annotations[fieldAnnotation] {
			fields[field] = f.Name
		}
	})
	return fields, overrides
}

// explainSettings returns a line for the settings that a message names and that
// are no flags of the command; "" if there is none. Without it, users would
// give them to the command that failed.
func explainSettings(cmd *cobra.Command, message string) string {
	var names []string
	// The flags of a command that the message quotes are that command's.
	message = regexp.MustCompile("`junctor [^`]*`").ReplaceAllString(message, "")
	for _, s := range config.Settings() {
		if cmd.Flags().Lookup(s.Name) == nil && regexp.MustCompile(`--`+s.Name+`\b($|[^-])`).MatchString(message) {
			names = append(names, s.Name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "--" + names[0] + " is a setting of the instance: junctor help settings " + names[0]
	}
	return "--" + strings.Join(names, " and --") + " are settings of the instance: junctor help settings " + strings.Join(names, " ")
}
