package admin

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// ListQuery is embedded in the query of every list. Its name is exported because
// registerOperation finds parameters of embedded structs in exported ones only.
type ListQuery struct {
	Limit  int    `query:"limit" minimum:"0" maximum:"1000" default:"100" doc:"Maximum number of items. With 0, the response has only the total."`
	Cursor string `query:"cursor" maxLength:"4000" doc:"The value of next from the previous page, with the same sort."`
	Sort   string `query:"sort" maxLength:"60" doc:"Field to sort by. A leading hyphen sorts in descending order."`
	Search string `query:"q" maxLength:"200" doc:"Only items that contain every word of this text."`
}

// listQuery returns the parameters of a list. registerList recognises queries by it.
func (q *ListQuery) listQuery() *ListQuery { return q }

// listOrder is one field that a list can be sorted by. Keys are compared as bytes, so that
// a cursor can hold one.
type listOrder[T any] struct {
	name string
	key  func(*T) string
}

// listShape says how a list is sorted and searched.
type listShape[T any] struct {
	// id identifies an item in the list. It decides the order of items with equal keys.
	id func(*T) string
	// orders are the fields to sort by. The first is the default, descending if newest is
	// set.
	orders []listOrder[T]
	newest bool
	// text returns the texts that q searches.
	text func(*T) []string
}

// byText sorts by a text, whatever its case.
func byText[T any](name string, text func(*T) string) listOrder[T] {
	return listOrder[T]{name, func(v *T) string { return strings.ToLower(text(v)) }}
}

// byTime sorts by a time.
func byTime[T any](name string, at func(*T) time.Time) listOrder[T] {
	return listOrder[T]{name, func(v *T) string { return at(v).UTC().Format("2006-01-02T15:04:05.000000000") }}
}

// byNumber sorts by a number that is not negative.
func byNumber[T any](name string, number func(*T) int64) listOrder[T] {
	return listOrder[T]{name, func(v *T) string { return fmt.Sprintf("%019d", max(number(v), 0)) }}
}

// listCursor is the place in a list behind the last item of a page. It names the key and
// the id of that item instead of a number of items, so that an item that is added or
// removed in between neither repeats nor hides another one.
type listCursor struct {
	Sort string `json:"s"`
	Key  string `json:"k"`
	ID   string `json:"i"`
}

// encode returns the cursor as the API has it.
func (c listCursor) encode() string {
	data, _ := json.Marshal(c) //nolint:errchkjson // three strings
	return base64.RawURLEncoding.EncodeToString(data)
}

// decodeListCursor reads a cursor that was made for the same sort.
func decodeListCursor(text, sort string) (listCursor, error) {
	var c listCursor
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = unmarshalStrictly(data, &c)
	}
	if err != nil || c.Sort != sort {
		return c, junctor.Errorf(junctor.CodeInvalid, "the cursor does not belong to this list with this sort; omit it to read from the first page")
	}
	return c, nil
}

// sorts lists the values of the parameter sort, the default first.
func (s *listShape[T]) sorts() []string {
	names := make([]string, len(s.orders))
	for i := range s.orders {
		names[i] = s.orders[i].name
	}
	return sortValues(names, s.newest)
}

// sortValues lists the values of the parameter sort for these fields, the default first.
func sortValues(names []string, newest bool) []string {
	first := names[0]
	if newest {
		first = "-" + first
	}
	all := []string{first}
	for _, name := range names {
		for _, value := range []string{name, "-" + name} {
			if value != first {
				all = append(all, value)
			}
		}
	}
	return all
}

// pageOf returns the page of a list that a query names, and the number of items on all
// pages. It changes items. The compiler writes it once for each type of items, so the rest is
// in listSort.
func (s *listShape[T]) pageOf(items []T, q *ListQuery) (*pageResponse[T], error) {
	sort, err := newListSort(s.sorts(), q)
	if err != nil {
		return nil, err
	}
	order := slices.IndexFunc(s.orders, func(o listOrder[T]) bool { return o.name == sort.field })
	places := make([]place, 0, len(items))
	for i := range items {
		if containsWords(s.text(&items[i]), sort.words) {
			places = append(places, place{s.orders[order].key(&items[i]), s.id(&items[i]), i})
		}
	}
	out, total := newPage[T](nil, ""), len(places)
	places, out.Body.Next = sort.page(places)
	out.Body.Total = &total
	for _, p := range places {
		out.Body.Items = append(out.Body.Items, items[p.item])
	}
	return out, nil
}

// place says where an item stands in a list.
type place struct {
	key, id string
	item    int // index of the item
}

// listSort is what a query says about a list in memory.
type listSort struct {
	sort, field string
	descending  bool
	words       []string
	after       *place // the last item of the page before; nil for the first page
	limit       int
}

// newListSort reads a query of a list that can be sorted in these ways.
func newListSort(sorts []string, q *ListQuery) (*listSort, error) {
	s := &listSort{sort: cmp.Or(q.Sort, sorts[0]), words: strings.Fields(strings.ToLower(q.Search)), limit: q.Limit}
	if !slices.Contains(sorts, s.sort) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "this list cannot be sorted by %q; use one of %s", q.Sort, strings.Join(sorts, ", "))
	}
	s.field, s.descending = strings.CutPrefix(s.sort, "-")
	if q.Cursor != "" {
		after, err := decodeListCursor(q.Cursor, s.sort)
		if err != nil {
			return nil, err
		}
		s.after = &place{key: after.Key, id: after.ID}
	}
	return s, nil
}

// compare orders two items.
func (s *listSort) compare(a, b place) int {
	order := cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	if s.descending {
		return -order
	}
	return order
}

// page sorts the items and returns those of the page, and the cursor of the next page.
func (s *listSort) page(places []place) (_ []place, next string) {
	slices.SortFunc(places, s.compare)
	if s.after != nil {
		from, found := slices.BinarySearchFunc(places, *s.after, s.compare)
		if found {
			from++
		}
		places = places[from:]
	}
	if n := s.limit; len(places) > n {
		places = places[:n]
		if n > 0 {
			next = listCursor{s.sort, places[n-1].key, places[n-1].id}.encode()
		}
	}
	return places, next
}

// containsWords reports whether every word occurs in one of the texts. The words are in
// lower case.
func containsWords(texts, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// registerList registers a list whose items are held in memory, or so few that a request
// reads them all. read returns the items that the caller may see and that the query's own
// filters select; their order does not matter.
func registerList[I, T any](a *api, op huma.Operation, shape listShape[T], read func(context.Context, *I) ([]T, error)) {
	registerRoute(a, op, func(ctx context.Context, in *I) (*pageResponse[T], error) {
		items, err := read(ctx, in)
		if err != nil {
			return nil, err
		}
		return shape.pageOf(items, any(in).(interface{ listQuery() *ListQuery }).listQuery())
	})
	a.documentSorts(op.Path, shape.sorts())
}

// rowShape says how the rows of a list are ordered that the database pages and searches.
// Its rows have one order, which is that of their keys and then of their ids.
type rowShape[T any] struct {
	key    func(*T) string // nil if the order is that of the ids alone
	id     func(*T) string
	order  string // the value of sort
	newest bool   // the default is descending
}

// sorts lists the values of the parameter sort, the default first.
func (s *rowShape[T]) sorts() []string {
	if s.newest {
		return []string{"-" + s.order, s.order}
	}
	return []string{s.order, "-" + s.order}
}

// rowPage returns the page that a query names, for the database.
func (s *rowShape[T]) rowPage(q *ListQuery) (*junctor.RowPage, string, error) {
	sorts := s.sorts()
	sort := cmp.Or(q.Sort, sorts[0])
	if !slices.Contains(sorts, sort) {
		return nil, "", junctor.Errorf(junctor.CodeInvalid, "this list cannot be sorted by %q; use one of %s", q.Sort, strings.Join(sorts, ", "))
	}
	page := &junctor.RowPage{Words: strings.Fields(strings.ToLower(q.Search)), Ascending: sort == s.order, Limit: q.Limit}
	if q.Cursor != "" {
		after, err := decodeListCursor(q.Cursor, sort)
		if err != nil {
			return nil, "", err
		}
		page.Key, page.ID = after.Key, after.ID
	}
	return page, sort, nil
}

// registerRows registers a list that the database pages, sorts and searches. read returns a
// page with one more row if there is another page, and the number of rows of all pages that
// the caller may see.
func registerRows[I, T any](a *api, op huma.Operation, shape rowShape[T], read func(context.Context, *I, *junctor.RowPage) ([]T, junctor.RowTotal, error)) {
	registerRoute(a, op, func(ctx context.Context, in *I) (*pageResponse[T], error) {
		q := any(in).(interface{ listQuery() *ListQuery }).listQuery()
		page, sort, err := shape.rowPage(q)
		if err != nil {
			return nil, err
		}
		items, total, err := read(ctx, in, page)
		if err != nil {
			return nil, err
		}
		next := ""
		if n := q.Limit; len(items) > n {
			items = items[:n]
			last := listCursor{Sort: sort, ID: shape.id(&items[n-1])}
			if shape.key != nil {
				last.Key = shape.key(&items[n-1])
			}
			next = last.encode()
		}
		out := newPage(items, next)
		out.Body.Total, out.Body.TotalIsMinimum = &total.Rows, total.AtLeast
		return out, nil
	})
	a.documentSorts(op.Path, shape.sorts())
}

// documentSorts adds the values of the parameter sort to the document of a list.
func (a *api) documentSorts(path string, sorts []string) {
	for _, p := range a.huma.OpenAPI().Paths[path].Get.Parameters {
		if p.Name != "sort" {
			continue
		}
		p.Schema.Default = sorts[0]
		for _, s := range sorts {
			p.Schema.Enum = append(p.Schema.Enum, s)
		}
		p.Schema.PrecomputeMessages()
	}
}
