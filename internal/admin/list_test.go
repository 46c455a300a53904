package admin

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// row is an item of a list for tests.
type row struct {
	ID, Name string
	At       time.Time
	Size     int64
}

func rowList(newest bool) listShape[row] {
	return listShape[row]{
		id: func(r *row) string { return r.ID },
		orders: []listOrder[row]{
			byTime("at", func(r *row) time.Time { return r.At }),
			byText("name", func(r *row) string { return r.Name }),
			byNumber("size", func(r *row) int64 { return r.Size }),
		},
		newest: newest,
		text:   func(r *row) []string { return []string{r.Name} },
	}
}

// randomRow returns a row that often equals others in all but its id.
func randomRow(id int) row {
	return row{fmt.Sprintf("r%d", id), []string{"Ada", "ada", "bob", "", "Zoë"}[rand.IntN(5)], time.Unix(rand.Int64N(4), rand.Int64N(3)), rand.Int64N(12)}
}

// readRows reads a list to its end. between runs after every page.
func readRows(t *testing.T, shape listShape[row], rows func() []row, q ListQuery, between func()) []row {
	t.Helper()
	var all []row
	for range 1000 {
		page, err := shape.pageOf(slices.Clone(rows()), &q)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Body.Items); n > q.Limit || n == 0 && page.Body.Next != "" {
			t.Fatalf("%d items on a page of %d", n, q.Limit)
		}
		all = append(all, page.Body.Items...)
		if page.Body.Next == "" {
			return all
		}
		q.Cursor = page.Body.Next
		between()
	}
	t.Fatal("the list has no end")
	return nil
}

// The pages of a list are the list, in its order, for every sort and size.
func TestPagesAreTheList(t *testing.T) {
	t.Parallel()
	for _, newest := range []bool{false, true} {
		shape := rowList(newest)
		for _, sort := range append(shape.sorts(), "") {
			for range 6 {
				rows := make([]row, rand.IntN(40))
				for i := range rows {
					rows[i] = randomRow(i)
				}
				whole := readRows(t, shape, func() []row { return rows }, ListQuery{Limit: 1000, Sort: sort}, nil)
				if len(whole) != len(rows) {
					t.Fatalf("%q lists %d of %d rows", sort, len(whole), len(rows))
				}
				for _, limit := range []int{1, 2, 7, len(rows) + 1} {
					parts := readRows(t, shape, func() []row { return rows }, ListQuery{Limit: limit, Sort: sort}, func() {})
					if !slices.Equal(parts, whole) {
						t.Fatalf("%q in pages of %d:\n%v\nwhole:\n%v", sort, limit, parts, whole)
					}
				}
			}
		}
	}
}

// Rows that stay are listed once, whatever is added and removed between two pages.
func TestPagesWhileRowsChange(t *testing.T) {
	t.Parallel()
	shape := rowList(false)
	for _, sort := range shape.sorts() {
		for range 15 {
			var stay, now []row
			for i := range 30 {
				r := randomRow(i)
				now = append(now, r)
				if i%3 > 0 {
					stay = append(stay, r)
				}
			}
			added := 100
			parts := readRows(t, shape, func() []row { return now }, ListQuery{Limit: 1 + rand.IntN(5), Sort: sort}, func() {
				now = append(now, randomRow(added))
				added++
				if i := rand.IntN(len(now)); !slices.Contains(stay, now[i]) {
					now = slices.Delete(now, i, i+1)
				}
				if len(now) > 60 {
					now = now[:60]
				}
			})
			seen := map[string]int{}
			for _, r := range parts {
				seen[r.ID]++
			}
			for _, r := range stay {
				if seen[r.ID] != 1 {
					t.Fatalf("%q lists %v %d times", sort, r, seen[r.ID])
				}
			}
			for id, n := range seen {
				if n > 1 {
					t.Fatalf("%q lists %s %d times", sort, id, n)
				}
			}
		}
	}
}

func TestListSearchAndTotal(t *testing.T) {
	t.Parallel()
	shape := rowList(false)
	rows := []row{{ID: "1", Name: "Ada Byron"}, {ID: "2", Name: "Bob"}, {ID: "3", Name: "BYRON the dog"}}
	page, err := shape.pageOf(slices.Clone(rows), &ListQuery{Limit: 1, Search: " byron "})
	if err != nil || *page.Body.Total != 2 || len(page.Body.Items) != 1 || page.Body.Next == "" {
		t.Errorf("%+v, %v", page, err)
	}
	page, err = shape.pageOf(slices.Clone(rows), &ListQuery{Limit: 0})
	if err != nil || *page.Body.Total != 3 || len(page.Body.Items) != 0 || page.Body.Next != "" {
		t.Errorf("with limit 0: %+v, %v", page, err)
	}
	cursor := listCursor{"name", "x", "1"}.encode()
	for _, bad := range []ListQuery{{Limit: 1, Sort: "colour"}, {Limit: 1, Cursor: "!"}, {Limit: 1, Cursor: cursor}, {Limit: 1, Sort: "-name", Cursor: cursor}} {
		if _, err := shape.pageOf(slices.Clone(rows), &bad); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%+v answers %v", bad, err)
		}
	}
}

// readWith sends a GET request as an admin with one header.
func readWith(h http.Handler, path, header, value string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, Prefix+path, nil)
	r.Header.Set("Authorization", "Bearer admin,user=u1")
	r.Header.Set(header, value)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func TestETagOfAList(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	first := readWith(h, "/servers", "Accept", "*/*")
	tag := first.Header().Get("ETag")
	if first.Code != http.StatusOK || tag == "" {
		t.Fatalf("%d %v", first.Code, first.Header())
	}
	for _, given := range []string{tag, `"a", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
		if rec := readWith(h, "/servers", "If-None-Match", given); rec.Code != http.StatusNotModified || rec.Body.Len() != 0 || rec.Header().Get("ETag") != tag {
			t.Errorf("If-None-Match: %s answers %d, %d bytes", given, rec.Code, rec.Body.Len())
		}
	}
	if rec := readWith(h, "/servers?sort=-id&limit=0", "If-None-Match", tag); rec.Code != http.StatusOK {
		t.Errorf("another page answers %d", rec.Code)
	}
	w.mu.Lock()
	w.servers[0].Title = "changed"
	w.mu.Unlock()
	if rec := readWith(h, "/servers", "If-None-Match", tag); rec.Code != http.StatusOK || rec.Header().Get("ETag") == tag {
		t.Errorf("after a change the answer is %d with the tag %s", rec.Code, rec.Header().Get("ETag"))
	}
	// The tag of an object is its version, and does not cover what else the answer has.
	object := readWith(h, "/servers/demo", "Accept", "*/*").Header().Get("ETag")
	if rec := readWith(h, "/servers/demo", "If-None-Match", object); rec.Code != http.StatusOK {
		t.Errorf("a server answers %d to its version", rec.Code)
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i := range 100 {
		w.servers = append(w.servers, junctor.Server{ID: "s" + strconv.Itoa(i), Mode: junctor.ModeBYO})
	}
	h := w.handler(t)
	plain := readWith(h, "/servers", "Accept-Encoding", "br")
	small := readWith(h, "/servers", "Accept-Encoding", "br, gzip;q=0.5")
	if small.Header().Get("Content-Encoding") != "gzip" || small.Body.Len()*4 > plain.Body.Len() || small.Header().Get("Content-Length") != strconv.Itoa(small.Body.Len()) {
		t.Fatalf("%d of %d bytes with %v", small.Body.Len(), plain.Body.Len(), small.Header())
	}
	if plain.Header().Get("Vary") != "Accept-Encoding" || plain.Header().Get("ETag") != small.Header().Get("ETag") {
		t.Errorf("plain: %v, compressed: %v", plain.Header(), small.Header())
	}
	z, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != plain.Body.String() {
		t.Errorf("decompressed, the answer is %q: %v", text, err)
	}
	for _, header := range []string{"", "identity", "gzip;q=0", "*;q=0", "gzip; q=0.0, *"} {
		if rec := readWith(h, "/servers", "Accept-Encoding", header); rec.Header().Get("Content-Encoding") != "" {
			t.Errorf("Accept-Encoding: %s is answered in %s", header, rec.Header().Get("Content-Encoding"))
		}
	}
	if rec := readWith(h, "/version", "Accept-Encoding", "gzip"); rec.Header().Get("Content-Encoding") != "" {
		t.Error("a small answer is compressed")
	}
	ops := operations(newAPI(w.options()))
	for _, id := range uncompressedOperations() {
		if ops[id] == nil || ops[id].Method != http.MethodGet {
			t.Errorf("%s is listed as not compressed, and is no GET operation", id)
		}
	}
}

// A token that is shown once is never in a compressed answer, next to a name that the
// client chose.
func TestTokensAreNotCompressed(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	name := strings.Repeat("jn_abc_", 14)
	for path, body := range map[string]string{"/keys": `{"name":"` + name + `","scopes":["admin"]}`, "/tenants": `{"id":"acme","name":"` + name + `"}`} {
		r := httptest.NewRequest(http.MethodPost, Prefix+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer admin")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept-Encoding", "gzip")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != http.StatusCreated || rec.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s answers %d %v", path, rec.Code, rec.Header())
		}
	}
}

// listAnswer is the body of a list whose items nobody looks at.
type listAnswer struct {
	Items []json.RawMessage
	Next  string
	Total *int
}

// withoutPages lists the lists that have no pages, each with the reason.
func withoutPages() map[string]string {
	return map[string]string{
		"list-calls":          "its rows are the history, whose pages are cut by time, newest first; the first has a total",
		"list-history":        "as list-calls",
		"list-schedule-times": "computed from the parameters",
		"view-mail":           "a queue that one page reads",
	}
}

// Every list of the API pages, sorts and searches on the server.
func TestEveryListHasPages(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a := newAPI(w.options())
	h := w.handler(t)
	lists := 0
	for id, op := range operations(a) {
		media := op.Responses["200"]
		if op.Method != http.MethodGet || media == nil || media.Content["application/json"] == nil {
			continue
		}
		schema := media.Content["application/json"].Schema
		if schema.Ref != "" {
			schema = a.huma.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
		}
		if schema.Properties["items"] == nil {
			continue
		}
		if withoutPages()[id] != "" {
			continue
		}
		lists++
		var sorts []any
		has := map[string]bool{}
		for _, p := range op.Parameters {
			has[p.Name] = true
			if p.Name == "sort" {
				sorts = p.Schema.Enum
			}
		}
		for _, name := range []string{"limit", "cursor", "sort", "q"} {
			if !has[name] {
				t.Errorf("%s has no parameter %s", id, name)
			}
		}
		if schema.Properties["total"] == nil {
			t.Errorf("%s has no total", id)
		}
		if len(sorts) < 2 {
			t.Errorf("%s can be sorted by %v", id, sorts)
		}
		path := strings.NewReplacer("{id}", "demo", "{name}", "demo__echo", "{owner}", "ocr", "{user}", "u1").Replace(op.Path)
		for _, sort := range append(sorts, nil) {
			query := url.Values{"limit": {"1"}}
			if sort != nil {
				query.Set("sort", sort.(string))
			}
			rec := readWith(h, path+"?"+query.Encode(), "Accept", "*/*")
			var got listAnswer
			if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), &got) != nil || len(got.Items) > 1 || got.Total == nil || *got.Total < len(got.Items) || rec.Header().Get("ETag") == "" {
				t.Errorf("%s with the sort %v answers %d %s", id, sort, rec.Code, rec.Body)
			}
		}
		if rec := readWith(h, path+"?sort=no-such-field", "Accept", "*/*"); rec.Code != http.StatusBadRequest && rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s with an unknown sort answers %d", id, rec.Code)
		}
		if rec := readWith(h, path+"?cursor=x", "Accept", "*/*"); rec.Code != http.StatusBadRequest && rec.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s with a cursor that is none answers %d", id, rec.Code)
		}
	}
	if lists < 30 {
		t.Errorf("only %d lists were found", lists)
	}
}
