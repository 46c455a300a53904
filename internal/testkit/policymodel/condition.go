package policymodel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// value is what a condition comes to. An error is neither true nor false.
type value uint8

const (
	isFalse value = iota
	isTrue
	isError
)

// node is a part of a condition.
type node interface {
	text() string
	eval(c *Call) value
}

type (
	lit    bool
	not    struct{ x node }
	both   struct{ x, y node }
	either struct{ x, y node }
	choice struct{ c, x, y node }
	hasArg string
	textIs struct{ name, value string } // args.name == "value"
	above  struct {                     // args.name > n
		name string
		n    int
	}
	userIs   string
	inGroup  string
	agentIs  string
	viaEntry string
	readOnly struct{}
	under    struct{ name, folder string } // below(args.name, folder)
	office   struct{}                      // hours(…)
)

func (l lit) text() string { return strconv.FormatBool(bool(l)) }
func (l lit) eval(*Call) value {
	if l {
		return isTrue
	}
	return isFalse
}
func (n not) text() string { return "!(" + n.x.text() + ")" }
func (n not) eval(c *Call) value {
	switch n.x.eval(c) {
	case isTrue:
		return isFalse
	case isFalse:
		return isTrue
	default:
		return isError
	}
}
func (b both) text() string { return "(" + b.x.text() + " && " + b.y.text() + ")" }
func (b both) eval(c *Call) value {
	x, y := b.x.eval(c), b.y.eval(c)
	switch {
	case x == isFalse || y == isFalse:
		return isFalse
	case x == isError || y == isError:
		return isError
	}
	return isTrue
}
func (e either) text() string { return "(" + e.x.text() + " || " + e.y.text() + ")" }
func (e either) eval(c *Call) value {
	x, y := e.x.eval(c), e.y.eval(c)
	switch {
	case x == isTrue || y == isTrue:
		return isTrue
	case x == isError || y == isError:
		return isError
	}
	return isFalse
}

func (c choice) text() string {
	return "(" + c.c.text() + " ? " + c.x.text() + " : " + c.y.text() + ")"
}

func (c choice) eval(of *Call) value {
	switch c.c.eval(of) {
	case isTrue:
		return c.x.eval(of)
	case isFalse:
		return c.y.eval(of)
	default:
		return isError
	}
}

func truth(b bool) value { return lit(b).eval(nil) }

func (h hasArg) text() string { return "has(args." + string(h) + ")" }
func (h hasArg) eval(c *Call) value {
	_, ok := c.Args[string(h)]
	return truth(ok)
}
func (t textIs) text() string { return fmt.Sprintf("args.%s == %q", t.name, t.value) }
func (t textIs) eval(c *Call) value {
	v, ok := c.Args[t.name]
	if !ok {
		return isError
	}
	return truth(v == t.value) // values of other types are not equal
}
func (a above) text() string { return fmt.Sprintf("args.%s > %d", a.name, a.n) }
func (a above) eval(c *Call) value {
	switch v := c.Args[a.name].(type) {
	case int:
		return truth(v > a.n)
	case float64:
		return truth(v > float64(a.n))
	}
	return isError
}
func (u userIs) text() string         { return fmt.Sprintf("principal.user == %q", string(u)) }
func (u userIs) eval(c *Call) value   { return truth(c.User == string(u)) }
func (g inGroup) text() string        { return fmt.Sprintf("%q in principal.groups", string(g)) }
func (g inGroup) eval(c *Call) value  { return truth(slices.Contains(c.Groups, string(g))) }
func (a agentIs) text() string        { return fmt.Sprintf("principal.agent == %q", string(a)) }
func (a agentIs) eval(c *Call) value  { return truth(c.Agent == string(a)) }
func (e viaEntry) text() string       { return fmt.Sprintf("request.entry_point == %q", string(e)) }
func (e viaEntry) eval(c *Call) value { return truth(string(c.EntryPoint) == string(e)) }
func (readOnly) text() string         { return "tool.read_only" }
func (readOnly) eval(c *Call) value   { return truth(c.Name == ReadingTool) }
func (u under) text() string          { return fmt.Sprintf("below(args.%s, %q)", u.name, u.folder) }
func (office) text() string           { return `hours("Mon-Fri 09:00-17:00", "UTC")` }

func (u under) eval(c *Call) value {
	v, ok := c.Args[u.name].(string)
	if !ok {
		return isError
	}
	return truth(v == u.folder || strings.HasPrefix(v, u.folder+"/")) // the model's paths are clean
}

func (office) eval(c *Call) value {
	at := c.Time.UTC()
	day, hour := at.Weekday(), at.Hour()
	return truth(day != time.Saturday && day != time.Sunday && hour >= 9 && hour < 17)
}

// drawNode draws a condition.
func drawNode(t *rapid.T, depth int) node {
	kind := rapid.IntRange(0, 14).Draw(t, "node")
	if depth == 0 {
		kind = rapid.IntRange(4, 14).Draw(t, "leaf")
	}
	name := func() string { return rapid.SampledFrom(argumentNames()).Draw(t, "argument") }
	switch kind {
	case 0:
		return not{drawNode(t, depth-1)}
	case 1:
		return both{drawNode(t, depth-1), drawNode(t, depth-1)}
	case 2:
		return either{drawNode(t, depth-1), drawNode(t, depth-1)}
	case 3:
		return choice{drawNode(t, depth-1), drawNode(t, depth-1), drawNode(t, depth-1)}
	case 4:
		return lit(rapid.Bool().Draw(t, "literal"))
	case 5:
		return hasArg(name())
	case 6:
		return textIs{name(), rapid.SampledFrom([]string{"a", "b", "/srv/x"}).Draw(t, "text")}
	case 7:
		return above{name(), rapid.IntRange(0, 9).Draw(t, "number")}
	case 8:
		return userIs(rapid.SampledFrom(Users()).Draw(t, "user"))
	case 9:
		return inGroup(rapid.SampledFrom([]string{"finance", "ops"}).Draw(t, "group"))
	case 10:
		return agentIs(rapid.SampledFrom(Agents()).Draw(t, "agent"))
	case 11:
		return viaEntry(rapid.SampledFrom(EntryPoints()).Draw(t, "entry point"))
	case 12:
		return readOnly{}
	case 13:
		return under{name(), "/srv"}
	default:
		return office{}
	}
}
