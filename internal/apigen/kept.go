package apigen

import (
	"container/list"
	"crypto/rand"
	"encoding/base64"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

const (
	keepFor   = 30 * time.Minute
	keepBytes = 64 << 20 // of one server, all answers together
	scheme    = "answer"
)

// kept holds answers that were too large to give whole, each for whom it was
// given to. It is a cache: what is gone is asked for again.
type kept struct {
	mu    sync.Mutex
	all   map[string]*list.Element // by id
	order *list.List               // of *answer, the newest first
	bytes int
}

type answer struct {
	id, party, media string
	data             []byte
	until            time.Time
}

func newKept() *kept { return &kept{all: map[string]*list.Element{}, order: list.New()} }

// answers is the template under which they are read.
func answers() catalog.ResourceDef {
	const uri = scheme + "://{id}{?from}"
	return catalog.ResourceDef{URI: uri, JSON: []byte(`{"uriTemplate":"` + uri + `","name":"answers","title":"Answers that were too large","description":"The whole of an answer that a tool gave cut, for half an hour; with from, 64 KB of it from that byte on."}`)}
}

func (k *kept) add(party string, data []byte, media string) string {
	a := &answer{id: strings.ToLower(rand.Text()), party: party, media: media, data: data, until: time.Now().Add(keepFor)}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all[a.id] = k.order.PushFront(a)
	k.bytes += len(data)
	for k.order.Len() > 1 && (k.bytes > keepBytes || time.Now().After(k.order.Back().Value.(*answer).until)) { //nolint:forcetypeassert // it holds nothing else
		k.drop(k.order.Back())
	}
	return scheme + "://" + a.id
}

// drop forgets one; mu is held.
func (k *kept) drop(e *list.Element) {
	a := k.order.Remove(e).(*answer) //nolint:forcetypeassert // it holds nothing else
	delete(k.all, a.id)
	k.bytes -= len(a.data)
}

func (k *kept) get(party, id string) *answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.all[id]
	if e == nil {
		return nil
	}
	a := e.Value.(*answer) //nolint:forcetypeassert // it holds nothing else
	if time.Now().After(a.until) {
		k.drop(e)
		return nil
	}
	if a.party != party {
		return nil
	}
	return a
}

// read gives an answer that is kept, or a part of it.
func (s *Server) read(req *catalog.Request) (catalog.Result, error) {
	missing := junctor.Errorf(junctor.CodeNotFound, "there is no such answer, or it is kept no more: call the tool again")
	u, err := url.Parse(req.Name)
	if err != nil || u.Scheme != scheme {
		return catalog.Result{}, missing
	}
	a := s.kept.get(party(req.Principal), u.Host)
	if a == nil {
		return catalog.Result{}, missing
	}
	data := a.data
	if from := u.Query().Get("from"); from != "" {
		n, err := strconv.Atoi(from)
		if err != nil || n < 0 || n > len(data) {
			return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "from is a byte between 0 and %d", len(data))
		}
		data = data[n:min(n+call.MaxText, len(data))]
	}
	media, _, err := mime.ParseMediaType(a.media)
	if err != nil {
		media = "application/octet-stream"
	}
	content := wire.AppendObject(nil, []byte("{}"), nil, text("uri", req.Name), text("mimeType", media))
	if utf8.Valid(a.data) {
		content = wire.AppendObject(nil, content, nil, text("text", strings.ToValidUTF8(string(data), "\uFFFD")))
	} else {
		content = wire.AppendObject(nil, content, nil, text("blob", base64.StdEncoding.EncodeToString(data)))
	}
	return catalog.Result{Body: append(append([]byte(`{"contents":[`), content...), "]}"...)}, nil
}
