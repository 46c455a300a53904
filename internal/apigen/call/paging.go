package call

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// nextPage says how the next page is asked for: by what the API says in a Link
// header or in its answer, else by counting on. It is said in words, for models,
// and, where the API itself says that there is one, as the
// arguments that change, for Views.
func (s Shape) nextPage(a *Answer, body []byte) (notes []string, arguments string) {
	if more := s.nextFromLink(a.Header.Values("Link")); more != "" {
		return []string{"There is a next page: call again with " + more + "."}, more
	}
	p := s.Plan.Paging
	if p == nil {
		return nil, ""
	}
	if p.Kind == "cursor" {
		value := valueAt(body, p.Cursor)
		if p.Cursor == "" || kindOf(value) != kindPrimitive || plainText(value) == "" || plainText(value) == "false" {
			return nil, ""
		}
		more := argumentObject(p.Arg, value)
		if where := plainText(value); strings.HasPrefix(where, "/") || strings.Contains(where, "://") { // the whole address of the page
			if more = s.nextFromLink([]string{"<" + where + ">; rel=next"}); more == "" {
				return nil, ""
			}
		}
		return []string{"There is a next page: call again with " + more + "."}, more
	}
	count, found := countElements(body)
	if !found || count == 0 {
		return nil, ""
	}
	now, given := wire.Int(wire.Get(s.Arguments, p.Arg))
	step := int64(count)
	if p.Kind == "page" {
		step = 1
		if !given {
			now = 1
		}
	}
	return []string{"The next page, if there is one: call again with " + argumentObject(p.Arg, strconv.AppendInt(nil, now+step, 10)) + "."}, ""
}

func argumentObject(name string, value []byte) string {
	return string(wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: name, Value: value}))
}

// valueAt is the value at a JSON pointer; nil where there is none.
func valueAt(raw []byte, pointer string) []byte {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		raw = wire.Get(raw, unescapePointer(part))
	}
	return raw
}

// countElements counts those of the answer's list: itself, or its only member that is
// one.
func countElements(raw []byte) (n int, found bool) {
	list := raw
	if kindOf(raw) == kindObject {
		lists := 0
		for _, value := range wire.Members(raw) {
			if kindOf(value) == kindArray {
				list = value
				lists++
			}
		}
		if lists != 1 {
			return 0, false
		}
	}
	if kindOf(list) != kindArray {
		return 0, false
	}
	for range wire.Elements(list) {
		n++
	}
	return n, true
}

// nextFromLink is what changes in the arguments for the page that a Link header calls
// next.
func (s Shape) nextFromLink(links []string) string {
	for link := range strings.SplitSeq(strings.Join(links, ","), "<") {
		target, params, ok := strings.Cut(link, ">")
		if !ok || !isNextLink(strings.TrimRight(params, ", ")) {
			continue
		}
		u, err := url.Parse(target)
		if err != nil {
			continue
		}
		query := u.Query()
		out := []byte("{}")
		for i := range s.Plan.Args {
			a := &s.Plan.Args[i]
			value, stands := query[a.Key]
			if a.Place != Query || !stands || a.Scheme != "" {
				continue
			}
			now := wire.Get(s.Arguments, a.Name)
			if kindOf(now) == kindPrimitive && plainText(now) == value[0] || kindOf(now) == kindArray || kindOf(now) == kindObject {
				continue
			}
			next := wire.AppendString(nil, value[0])
			if _, err := strconv.ParseInt(value[0], 10, 64); err == nil && isCounter(s.Plan, a, now) {
				next = []byte(value[0])
			}
			out = wire.AppendObject(nil, out, nil, wire.Member{Key: a.Name, Value: next})
		}
		if string(out) != "{}" {
			return string(out)
		}
	}
	return ""
}

func isNextLink(params string) bool {
	return slices.ContainsFunc(strings.Split(params, ";"), func(p string) bool {
		key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		return strings.EqualFold(strings.TrimSpace(key), "rel") && slices.Contains(strings.Fields(strings.Trim(strings.TrimSpace(value), `"`)), "next")
	})
}

// isCounter says whether an argument is a number: it was given as one, or pages are
// counted with it.
func isCounter(p *Plan, a *Arg, now []byte) bool {
	if kindOf(now) == kindPrimitive {
		_, isText := wire.String(now)
		return !isText
	}
	return p.Paging != nil && p.Paging.Arg == a.Name && p.Paging.Kind != "cursor"
}
