package servers

import (
	"context"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// headerParty names the party of a request from another replica, so that its
// bytes are counted before it is read.
const headerParty = "Junctor-Party"

// issuerReplicas is the issuer of the party of requests without headerParty.
const issuerReplicas = "replicas"

// decoderStep is how many bytes of a message are read between two checks of the
// byte budget.
const decoderStep = 256 << 10

// countedDecoder decodes values that another replica sends, and counts their
// memory in the byte budget while they are read: gob holds the bytes of a
// message and their copy in the value.
type countedDecoder struct {
	*gob.Decoder
	in *countedReader
}

// newCountedDecoder returns a decoder that reads at most most bytes.
func newCountedDecoder(ctx context.Context, b *limit.ByteBudget, who limit.Party, from io.Reader, most int64) *countedDecoder {
	in := &countedReader{ctx: ctx, budget: b, who: who, from: io.LimitReader(from, most)}
	return &countedDecoder{gob.NewDecoder(in), in}
}

// releaseMessage releases the message that was read last. The bytes in kept stay
// counted until they are no longer referenced.
func (d *countedDecoder) releaseMessage(kept ...[]byte) {
	for _, b := range kept {
		d.in.budget.CountBuffer(d.in.who, b)
	}
	for _, release := range d.in.releases {
		release()
	}
	d.in.releases, d.in.read, d.in.room = nil, 0, 0
}

// countedReader counts twice the bytes that it reads, before it reads them.
type countedReader struct {
	ctx      context.Context
	budget   *limit.ByteBudget
	who      limit.Party
	from     io.Reader
	read     int64 // bytes read of the current message
	room     int64 // bytes counted for it
	releases []func()
	refused  error // why reading stopped
}

// Read reserves budget in steps before it reads, so that a message never
// occupies memory that is not counted.
func (r *countedReader) Read(p []byte) (int, error) {
	room := max(r.room, limit.MaxUncountedBytes)
	if r.read >= room {
		release, err := r.budget.ReserveBytes(r.ctx, r.who, 2*decoderStep)
		if err != nil {
			r.refused = err
			return 0, err
		}
		r.releases = append(r.releases, release)
		r.room += decoderStep
		room = max(r.room, limit.MaxUncountedBytes)
	}
	n, err := r.from.Read(p[:min(int64(len(p)), room-r.read)])
	r.read += int64(n)
	return n, err
}

// noRoomError is the error if there is no room for an answer. The call was made, so
// the error must not be one after which callers repeat it.
func noRoomError(err error) error {
	e, ok := errors.AsType[*junctor.Error](err)
	if !ok {
		return err
	}
	return &junctor.Error{Code: junctor.CodeTooLarge, RetryAfter: e.RetryAfter, Message: "the server responded, but its result could not be read: " + e.Message}
}

// partyText encodes a party for headerParty.
func partyText(who limit.Party) string {
	text, _ := json.Marshal(who) // three texts
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseParty decodes headerParty. Only channels between replicas carry it, so
// its value is trusted.
func parseParty(text string) limit.Party {
	var who limit.Party
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || text == "" || json.Unmarshal(plain, &who) != nil {
		return limit.Party{Issuer: issuerReplicas}
	}
	return who
}
