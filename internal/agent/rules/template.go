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
)

// variables are what is known while an intent is worked on.
type variables map[string]any

// template is a text with {{name}}, or {{name|as}}, in it.
type template []templatePart

// templatePart is plain text, or a placeholder.
type templatePart struct {
	literal string
	name    string // "" for plain text
	path    path   // into what has the name
	format  string
}

var (
	placeholderPattern = regexp.MustCompile(`\{\{([^{}]*)\}\}`)
	placeholderContent = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*|\[-?[0-9]+\])*)\s*(?:\|\s*([a-z]+)\s*)?$`)
)

// formatNames are what may stand behind the bar.
func formatNames() []string {
	return []string{"text", "number", "integer", "lower", "upper", "json", "list", "count", "day", "thousands", "money"}
}

// parseTemplate reads a text with placeholders.
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
			return nil, fmt.Errorf("%q is no placeholder: write {{name}}, {{name.member}} or {{name|%s}}", truncateText(text[at[0]:at[1]]), strings.Join(formatNames(), " or "))
		}
		if parts[3] != "" && !slices.Contains(formatNames(), parts[3]) {
			return nil, fmt.Errorf("%q: behind the bar stands one of %s", truncateText(text[at[0]:at[1]]), strings.Join(formatNames(), ", "))
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

// variableNames gives what the template wants to know.
func (t template) variableNames() []string {
	var out []string
	for _, p := range t {
		if p.name != "" {
			out = append(out, p.name)
		}
	}
	return out
}

// render writes the template out. What is not known is nothing.
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

// renderValue is the same, but a template that is one placeholder keeps the type of
// what it stands for.
func (t template) renderValue(vars variables) any {
	if len(t) == 1 && t[0].name != "" {
		return t[0].resolve(vars)
	}
	return t.render(vars)
}

// resolve gives what a placeholder stands for, in the form that it asks for.
func (p templatePart) resolve(vars variables) any {
	v, known := vars[p.name]
	if known {
		v, known = p.path.lookup(v)
	}
	if !known {
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

// parseNumber reads a number as people write it: 1,234.5 too. What is none stays text:
// the tool says what it wants.
func parseNumber(text string, whole bool) any {
	f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return text
	}
	if whole {
		f = math.Trunc(f)
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}

// formatDay writes a date for people; what is none stays as it is.
func formatDay(text string) string {
	date, _, _ := strings.Cut(text, "T")
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return text
	}
	return t.Format("Jan 2")
}

// formatThousands writes a number with a comma before every third digit; what is none
// stays as it is.
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

// formatMoney writes an object with an amount and a currency, by its code of three letters,
// as people write it. What has no currency is its amount alone.
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

func toList(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// toText writes a value for people.
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

// valueTemplate is arguments, or a part of them, before they are filled in.
type valueTemplate struct {
	text    template // of a text; nil where it is something else
	literal any      // a number, a truth value or nothing
	list    []valueTemplate
	object  []member
	kind    byte // t, f, l or o
}

type member struct {
	name  string
	value valueTemplate
}

// findMember gives one of an object's; nil where it has none of the name.
func (v *valueTemplate) findMember(name string) *valueTemplate {
	for i := range v.object {
		if v.object[i].name == name {
			return &v.object[i].value
		}
	}
	return nil
}

// render makes JSON of it. Members and elements that a single placeholder stands
// for, and that are not known, are left out.
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

func truncateText(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:60], "") + "…"
}
