package rules

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// variables holds the values that are known while an intent is answered. They are
// texts, or decoded JSON with numbers as json.Number.
type variables map[string]any

// template is a text with placeholders: {{name}} or {{name|format}}.
type template []templatePart

// templatePart is literal text or a placeholder.
type templatePart struct {
	literal string
	name    string // of the variable; "" for literal text
	path    path   // into the variable's value
	format  string
}

// placeholderPattern finds placeholders; placeholderContent splits their inside
// into the variable, the path into its value, and the format.
var (
	placeholderPattern = regexp.MustCompile(`\{\{([^{}]*)\}\}`)
	placeholderContent = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*|\[-?[0-9]+\])*)\s*(?:\|\s*([a-z]+)\s*)?$`)
)

// formatNames returns the formats that a placeholder may have behind the bar.
func formatNames() []string {
	return []string{"text", "number", "integer", "lower", "upper", "json", "list", "count", "day", "thousands", "money"}
}

// parseTemplate parses a text with placeholders.
func parseTemplate(text string) (template, error) {
	var t template
	rest := 0
	for _, at := range placeholderPattern.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > rest {
			t = append(t, templatePart{literal: text[rest:at[0]]})
		}
		rest = at[1]
		parts := placeholderContent.FindStringSubmatch(text[at[2]:at[3]])
		if parts == nil {
			return nil, fmt.Errorf("%q is not a placeholder: write {{name}}, {{name.member}} or {{name|%s}}", truncateText(text[at[0]:at[1]]), strings.Join(formatNames(), " or "))
		}
		if parts[3] != "" && !slices.Contains(formatNames(), parts[3]) {
			return nil, fmt.Errorf("%q: after the bar, write one of %s", truncateText(text[at[0]:at[1]]), strings.Join(formatNames(), ", "))
		}
		way, err := parsePath("$" + parts[2])
		if err != nil {
			return nil, err
		}
		t = append(t, templatePart{name: parts[1], path: way, format: parts[3]})
	}
	if rest < len(text) {
		t = append(t, templatePart{literal: text[rest:]})
	}
	return t, nil
}

// variableNames returns the variables that the template uses.
func (t template) variableNames() []string {
	var out []string
	for _, p := range t {
		if p.name != "" {
			out = append(out, p.name)
		}
	}
	return out
}

// render returns the text. An unknown variable renders to nothing.
func (t template) render(vars variables) string {
	var b strings.Builder
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.literal)
			continue
		}
		b.WriteString(toText(p.resolve(vars)))
	}
	return b.String()
}

// renderValue is like render, but a template that is a single placeholder keeps the
// type of its value, so that a number stays a number in arguments. It returns nil
// if that value is unknown.
func (t template) renderValue(vars variables) any {
	if len(t) == 1 && t[0].name != "" {
		return t[0].resolve(vars)
	}
	return t.render(vars)
}

// resolve returns the value of a placeholder in its format; nil if it is unknown.
func (p templatePart) resolve(vars variables) any {
	v, known := vars[p.name]
	if known {
		v, known = p.path.lookup(v)
	}
	if !known {
		// An unknown list has no elements.
		if p.format == "count" {
			return json.Number("0")
		}
		return nil
	}
	switch p.format {
	case "text":
		return toText(v)
	case "number", "integer":
		return parseNumber(toText(v), p.format == "integer")
	case "lower":
		return strings.ToLower(toText(v))
	case "upper":
		return strings.ToUpper(toText(v))
	case "json":
		out, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return string(out)
	case "list":
		var lines []string
		for _, one := range toList(v) {
			lines = append(lines, "- "+toText(one))
		}
		return strings.Join(lines, "\n")
	case "count":
		return json.Number(strconv.Itoa(len(toList(v))))
	case "day":
		return formatDay(toText(v))
	case "thousands":
		return formatThousands(toText(v))
	case "money":
		return formatMoney(v)
	}
	return v
}

// parseNumber parses a number as people write it, such as 1,234.5. Anything else
// stays text: the tool then says which value it requires.
func parseNumber(text string, isInteger bool) any {
	f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return text
	}
	if isInteger {
		f = math.Trunc(f)
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

// formatDay returns a date or timestamp as month and day, such as Jan 2. Anything
// else stays as it is.
func formatDay(text string) string {
	date, _, _ := strings.Cut(text, "T")
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return text
	}
	return t.Format("Jan 2")
}

// formatThousands inserts a comma before every third digit of a number. Anything
// else stays as it is.
func formatThousands(text string) string {
	if !plainPattern.MatchString(text) {
		return text
	}
	whole, part, point := strings.Cut(text, ".")
	sign := strings.TrimRight(whole, "0123456789")
	for at := len(whole) - 3; at > len(sign); at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if point {
		return whole + "." + part
	}
	return whole
}

// formatMoney formats an object with an amount and a currency code, such as
// $1,234.50. Without a currency it returns the amount alone.
func formatMoney(v any) string {
	amount, currency := formatThousands(toText(memberValue(v, "amount"))), toText(memberValue(v, "currency"))
	sign, ok := map[string]string{"EUR": "€", "GBP": "£", "JPY": "¥", "USD": "$"}[currency]
	switch {
	case amount == "" || currency == "":
		return amount
	case !ok:
		return amount + " " + currency
	case strings.HasPrefix(amount, "-"):
		return "-" + sign + amount[1:]
	}
	return sign + amount
}

// toList returns a value as a list: itself, one element, or none for nil.
func toList(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// toText returns a value as text for people.
func toText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = toText(one)
		}
		return strings.Join(parts, ", ")
	}
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// valueTemplate is a JSON value with placeholders in its texts.
type valueTemplate struct {
	text    template // of kind 't'
	literal any      // of kind 'f': a number, a boolean or null
	list    []valueTemplate
	object  []member
	kind    byte // 't' for text, 'f' for fixed, 'l' for list, 'o' for object
}

// member is a named value of an object. Members keep the order of the file.
type member struct {
	name  string
	value valueTemplate
}

// findMember returns the value of a member; nil if the object has none of that
// name.
func (v *valueTemplate) findMember(name string) *valueTemplate {
	for i := range v.object {
		if v.object[i].name == name {
			return &v.object[i].value
		}
	}
	return nil
}

// render returns the value with its placeholders filled in. It leaves out members
// and elements that are a single placeholder with an unknown value, so that an
// optional argument can be absent.
func (v valueTemplate) render(vars variables) any {
	switch v.kind {
	case 't':
		return v.text.renderValue(vars)
	case 'l':
		out := []any{}
		for _, one := range v.list {
			if x := one.render(vars); x != nil || one.kind == 'f' {
				out = append(out, x)
			}
		}
		return out
	case 'o':
		out := map[string]any{}
		for _, m := range v.object {
			if x := m.value.render(vars); x != nil || m.value.kind == 'f' {
				out[m.name] = x
			}
		}
		return out
	}
	return v.literal
}

// truncateText shortens a text for an error message.
func truncateText(s string) string { return junctor.ShortenText(s, 60) }
