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

// Bounds of the cache. maxAnswerBytes is the sum of all answers of one server.
const (
	answerLifetime = 30 * time.Minute
	maxAnswerBytes = 64 << 20 // of one server, all answers together
	answerScheme   = "answer"
)

// answerCache holds answers that were too large for a result, each for the
// party that received it. It is a cache: an expired answer must be requested
// again by calling the tool. It is safe for concurrent use.
type answerCache struct {
	mu sync.Mutex
	// byID finds the entry of an answer in order by its id.
	byID map[string]*list.Element
	// order holds *cachedAnswer, the newest first.
	order      *list.List
	totalBytes int
}

// cachedAnswer is one answer. party is the caller that may read it.
type cachedAnswer struct {
	id, party, media string
	data             []byte
	expires          time.Time
}

// newAnswerCache returns an empty cache.
func newAnswerCache() *answerCache {
	return &answerCache{byID: map[string]*list.Element{}, order: list.New()}
}

// answerTemplate returns the resource template by which clients read cached
// answers.
func answerTemplate() catalog.ResourceDef {
	const uri = answerScheme + "://{id}{?from}"
	return catalog.ResourceDef{URI: uri, JSON: []byte(`{"uriTemplate":"` + uri + `","name":"answers","title":"Answers that were too large","description":"The whole of an answer that a tool gave cut, for half an hour; with from, 64 KB of it from that byte on."}`)}
}

// add stores an answer and returns its URI. The id is random, so that it cannot
// be guessed. Old and expired answers are dropped, but never the new one.
func (k *answerCache) add(party string, data []byte, media string) string {
	a := &cachedAnswer{id: strings.ToLower(rand.Text()), party: party, media: media, data: data, expires: time.Now().Add(answerLifetime)}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byID[a.id] = k.order.PushFront(a)
	k.totalBytes += len(data)
	// The oldest answers go first. One that alone exceeds the bound stays until
	// the next.
	for k.order.Len() > 1 && (k.totalBytes > maxAnswerBytes || time.Now().After(k.order.Back().Value.(*cachedAnswer).expires)) { //nolint:forcetypeassert // it holds nothing else
		k.dropEntry(k.order.Back())
	}
	return answerScheme + "://" + a.id
}

// dropEntry removes an answer; mu is held.
func (k *answerCache) dropEntry(e *list.Element) {
	a := k.order.Remove(e).(*cachedAnswer) //nolint:forcetypeassert // it holds nothing else
	delete(k.byID, a.id)
	k.totalBytes -= len(a.data)
}

// get returns an answer of a party, or nil. The answer of another party looks
// like one that does not exist.
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
	// An answer belongs to the caller that received it, even if another one
	// learns its URI.
	if a.party != party {
		return nil
	}
	return a
}

// readAnswer returns a cached answer as a resource, or the part from the byte
// that the query parameter from names.
func (s *Server) readAnswer(req *catalog.Request) (catalog.Result, error) {
	missing := junctor.Errorf(junctor.CodeNotFound, "this answer does not exist or has expired: call the tool again")
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
