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
	answerLifetime = 30 * time.Minute
	maxAnswerBytes = 64 << 20 // of one server, all answers together
	answerScheme   = "answer"
)

// answerCache holds answers that were too large to give whole, each for whom it was
// given to. It is a cache: what is gone is asked for again.
type answerCache struct {
	mu         sync.Mutex
	byID       map[string]*list.Element // by id
	order      *list.List               // of *answer, the newest first
	totalBytes int
}

type cachedAnswer struct {
	id, party, media string
	data             []byte
	expires          time.Time
}

func newAnswerCache() *answerCache {
	return &answerCache{byID: map[string]*list.Element{}, order: list.New()}
}

// answerTemplate is the template under which they are read.
func answerTemplate() catalog.ResourceDef {
	const uri = answerScheme + "://{id}{?from}"
	return catalog.ResourceDef{URI: uri, JSON: []byte(`{"uriTemplate":"` + uri + `","name":"answers","title":"Answers that were too large","description":"The whole of an answer that a tool gave cut, for half an hour; with from, 64 KB of it from that byte on."}`)}
}

func (k *answerCache) add(party string, data []byte, media string) string {
	a := &cachedAnswer{id: strings.ToLower(rand.Text()), party: party, media: media, data: data, expires: time.Now().Add(answerLifetime)}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byID[a.id] = k.order.PushFront(a)
	k.totalBytes += len(data)
	for k.order.Len() > 1 && (k.totalBytes > maxAnswerBytes || time.Now().After(k.order.Back().Value.(*cachedAnswer).expires)) { //nolint:forcetypeassert // it holds nothing else
		k.dropEntry(k.order.Back())
	}
	return answerScheme + "://" + a.id
}

// dropEntry forgets one; mu is held.
func (k *answerCache) dropEntry(e *list.Element) {
	a := k.order.Remove(e).(*cachedAnswer) //nolint:forcetypeassert // it holds nothing else
	delete(k.byID, a.id)
	k.totalBytes -= len(a.data)
}

func (k *answerCache) get(party, id string) *cachedAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.byID[id]
	if e == nil {
		return nil
	}
	a := e.Value.(*cachedAnswer) //nolint:forcetypeassert // it holds nothing else
	if time.Now().After(a.expires) {
		k.dropEntry(e)
		return nil
	}
	if a.party != party {
		return nil
	}
	return a
}

// readAnswer gives an answer that is kept, or a part of it.
func (s *Server) readAnswer(req *catalog.Request) (catalog.Result, error) {
	missing := junctor.Errorf(junctor.CodeNotFound, "there is no such answer, or it is kept no more: call the tool again")
	u, err := url.Parse(req.Name)
	if err != nil || u.Scheme != answerScheme {
		return catalog.Result{}, missing
	}
	a := s.answers.get(partyOf(req.Principal), u.Host)
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
	content := wire.AppendObject(nil, []byte("{}"), nil, stringMember("uri", req.Name), stringMember("mimeType", media))
	if utf8.Valid(a.data) {
		content = wire.AppendObject(nil, content, nil, stringMember("text", strings.ToValidUTF8(string(data), "\uFFFD")))
	} else {
		content = wire.AppendObject(nil, content, nil, stringMember("blob", base64.StdEncoding.EncodeToString(data)))
	}
	return catalog.Result{Body: append(append([]byte(`{"contents":[`), content...), "]}"...)}, nil
}
