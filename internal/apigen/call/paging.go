package call

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// nextPage says how the next page is requested: by the Link header or a cursor
// of the answer, or else by counting on. notes are sentences for models.
// arguments, for App views, is set only if the API itself says that there is a
// next page.
func (s ResultBuilder) nextPage(a *Answer, body []byte) (notes []string, arguments string) {
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
		// Some APIs answer the whole address of the next page instead of a
		// cursor.
		if where := plainText(value); strings.HasPrefix(where, "/") || strings.Contains(where, "://") {
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

// argumentObject returns a JSON object with one argument.
func argumentObject(name string, value []byte) string {
	return string(wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: name, Value: value}))
}

// valueAt returns the value at a JSON pointer, or nil.
func valueAt(raw []byte, pointer string) []byte {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		raw = wire.Get(raw, unescapePointer(part))
	}
	return raw
}

// countElements counts the elements of the answer's list: the answer itself, or
// its only member that is an array.
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

// nextFromLink returns the arguments that change for the page that a Link
// header calls next, as a JSON object; "" if there is none. Only the query of
// the link is used, never its host.
func (s ResultBuilder) nextFromLink(links []string) string {
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

// isNextLink reports whether the parameters of a link say rel=next.
func isNextLink(params string) bool {
	return slices.ContainsFunc(strings.Split(params, ";"), func(p string) bool {
		key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		return strings.EqualFold(strings.TrimSpace(key), "rel") && slices.Contains(strings.Fields(strings.Trim(strings.TrimSpace(value), `"`)), "next")
	})
}

// isCounter reports whether an argument is a number: the caller gave it as one,
// or it counts pages.
func isCounter(p *Plan, a *Arg, now []byte) bool {
	if kindOf(now) == kindPrimitive {
		_, isText := wire.String(now)
		return !isText
	}
	return p.Paging != nil && p.Paging.Arg == a.Name && p.Paging.Kind != "cursor"
}
