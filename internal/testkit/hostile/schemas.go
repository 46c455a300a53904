// Package hostile makes schemas and documents that try to exhaust a program that reads
// them: each is small, and asks for much time or memory.
package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// Case is one text that tries to exhaust its reader.
type Case struct {
	Name string
	Text string
}

// repeat writes a format for 0 to n-1.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		args := make([]any, strings.Count(format, "%d"))
		for k := range args {
			args[k] = i
		}
		fmt.Fprintf(&b, format, args...)
	}
	return b.String()
}

// chained writes definitions a0 to a{n-1}, in each of which NEXT is the name of
// the following one.
func chained(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":%s,`, i, strings.ReplaceAll(format, "NEXT", fmt.Sprintf("a%d", i+1)))
	}
	fmt.Fprintf(&b, `"a%d":{"type":"string"}`, n)
	return b.String()
}

// Schemas gives input schemas for tools. Each takes an object with the members
// x, p and q.
func Schemas() []Case {
	const next = `{"$ref":"#/$defs/NEXT"}`
	var cases []Case
	add := func(name, text string) { cases = append(cases, Case{name, text}) }
	for family, format := range map[string]string{
		"allOf":             `{"allOf":[` + next + `,` + next + `]}`,
		"anyOf":             `{"anyOf":[` + next + `,` + next + `]}`,
		"oneOf":             `{"oneOf":[` + next + `,` + next + `]}`,
		"mixed":             `{"allOf":[` + next + `],"anyOf":[` + next + `],"oneOf":[` + next + `]}`,
		"not":               `{"not":` + next + `,"allOf":[` + next + `]}`,
		"if":                `{"if":` + next + `,"then":` + next + `,"else":` + next + `}`,
		"dependentSchemas":  `{"dependentSchemas":{"p":` + next + `,"q":` + next + `},"not":` + next + `}`,
		"properties":        `{"allOf":[{"properties":{"x":` + next + `}},{"properties":{"x":` + next + `}}]}`,
		"patternProperties": `{"patternProperties":{"x":` + next + `,"^x":` + next + `,"x$":` + next + `}}`,
		"additional":        `{"anyOf":[{"additionalProperties":` + next + `},{"additionalProperties":` + next + `}]}`,
		"unevaluated":       `{"allOf":[` + next + `,{"properties":{"z":true}}],"unevaluatedProperties":` + next + `}`,
		"chain":             next,
	} {
		for _, levels := range []int{20, 40, 100, 2000} {
			add(fmt.Sprintf("%s %d", family, levels), `{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{`+chained(levels, format)+`}}`)
		}
	}
	for _, n := range []int{3, 30, 300} {
		add(fmt.Sprintf("cycle of %d", n), `{"$ref":"#/$defs/b","$defs":{"b":{"$ref":"#/$defs/a0"},`+strings.Replace(chained(n, `{"allOf":[`+next+`]}`), `{"type":"string"}`, `{"$ref":"#/$defs/b"}`, 1)+`}}`)
		add(fmt.Sprintf("dynamic %d", n), `{"$dynamicAnchor":"n","properties":{"x":{"allOf":[{"$dynamicRef":"#n"}`+repeat(n, `,{"$dynamicRef":"#n"}`)+`]}}}`)
		add(fmt.Sprintf("recursive %d", n), `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"x":{"anyOf":[{"$recursiveRef":"#"}`+repeat(n, `,{"$recursiveRef":"#"}`)+`]}}}`)
		add(fmt.Sprintf("tree of %d branches", n), `{"$ref":"#/$defs/e","$defs":{"e":{"anyOf":[{"type":"string"}`+repeat(n, `,{"properties":{"x":{"$ref":"#/$defs/e"},"k":{"const":%d}},"required":["k"]}`)+`]}}}`)
		add(fmt.Sprintf("nested %d", n), `{"properties":{"x":`+strings.Repeat(`{"not":`, min(n, 100))+`{}`+strings.Repeat(`}`, min(n, 100))+`}}`)
		add(fmt.Sprintf("enum %d", n*1000), `{"properties":{"x":{"enum":[0`+repeat(n*1000, `,"v%d"`)+`]}}}`)
		add(fmt.Sprintf("wide %d", n*100), `{"type":"object","properties":{"a":{}`+repeat(n*100, `,"p%d":{"anyOf":[{"type":"string"},{"type":"null"}]}`)+`}}`)
		add(fmt.Sprintf("repetition %d", n), `{"properties":{"x":{"pattern":"^(`+strings.Repeat(`(a|b|ab)*[ab]{900}`, n)+`)$"}}}`)
		add(fmt.Sprintf("optional %d", n), `{"properties":{"x":{"pattern":"`+strings.Repeat(`a?`, n*20)+strings.Repeat(`a`, n*20)+`"}}}`)
		add(fmt.Sprintf("names %d", n), `{"patternProperties":{"^$":{}`+repeat(n*10, `,"(a|b)*%d":{"type":"string"}`)+`}}`)
		add(fmt.Sprintf("ids %d", n), `{"properties":{"x":{}`+repeat(n, `,"p%d":{"$id":"https://h.example/%d","$ref":"https://h.example/0"}`)+`}}`)
		add(fmt.Sprintf("foreign %d", n), `{"x-all":[0`+repeat(n*10, `,{"type":"string"}`)+`],"properties":{"x":{}`+repeat(n*10, `,"p%d":{"$ref":"#/x-all/%d"}`)+`}}`)
		add(fmt.Sprintf("long name %d", n), `{"properties":{"`+strings.Repeat("n", n*1000)+`":{"properties":{"a":{}`+repeat(n*10, `,"p%d":{}`)+`}}}}`)
		add(fmt.Sprintf("numbers %d", n), `{"properties":{"x":{"multipleOf":1e-`+fmt.Sprint(n*3)+`,"maximum":1e`+fmt.Sprint(n*3)+`}}}`)
		add(fmt.Sprintf("required %d", n), `{"anyOf":[{}`+repeat(n, `,{"required":["r%d"]}`)+`],"required":["a"`+repeat(n*100, `,"r%d"`)+`]}`)
	}
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.Name, b.Name) }) // families come in no order
	return cases
}

// Arguments gives values to call tools of Schemas with.
func Arguments() []string {
	deep := strings.Repeat(`{"p":1,"q":1,"k":1,"x":`, 60) + `"` + strings.Repeat("ab", 200) + `"` + strings.Repeat("}", 60)
	wide := `{"p":1,"q":1,"x":[{}` + strings.Repeat(`,{"a":1,"x":"aaaaaaaaaaaaaaaaaaaaaaaa"}`, 2000) + `]` + repeat(2000, `,"ab%d":1`) + `}`
	return []string{`{"p":1,"q":2,"x":{"x":1}}`, deep, wide, `{"x":"` + strings.Repeat("ab", 100_000) + `"}`}
}
