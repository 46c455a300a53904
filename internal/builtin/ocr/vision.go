package ocr

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// vision reads images with Google Cloud Vision.
type vision struct {
	base        *url.URL
	client      *http.Client
	images      *images
	credentials Credentials // may be nil
	tokens      *tokens
}

func newVision(base *url.URL, client *http.Client, im *images, c Credentials) *vision {
	return &vision{
		base: base, client: client, images: im, credentials: c,
		tokens: &tokens{client: client, all: map[[sha256.Size]byte]*grant{}},
	}
}

func (v *vision) read(ctx context.Context, call *builtin.Call, in visionInput) (Text, error) {
	cred, stored, err := v.credential(ctx, call, in.Credentials)
	if err != nil {
		return Text{}, err
	}
	image, err := v.images.load(ctx, in.ImagePath)
	if err != nil {
		return Text{}, err
	}
	text, err := v.annotate(ctx, cred, annotateRequest(image))
	if wrong, ok := errors.AsType[*unusable](err); ok {
		return Text{}, badCredential(wrong.error, stored)
	}
	return text, err
}

// credential is the call's own, or the one that is stored.
func (v *vision) credential(ctx context.Context, call *builtin.Call, given *seal.Secret) (c credential, stored bool, err error) {
	var text string
	if given != nil && !given.IsZero() {
		text = given.Reveal()
	} else {
		if text, err = v.stored(ctx, call); err != nil {
			return c, true, err
		}
		stored = true
	}
	if c, err = parseCredential(text, v.base); err != nil {
		return c, stored, badCredential(err, stored)
	}
	return c, stored, nil
}

func (v *vision) stored(ctx context.Context, call *builtin.Call) (string, error) {
	tenant := junctor.DefaultTenant
	if p := call.Principal(); p != nil {
		tenant = p.Tenant
	}
	if v.credentials != nil {
		text, ok, err := v.credentials.Credential(ctx, tenant, ID, VisionCredential)
		if err != nil {
			return "", junctor.AsError(err)
		}
		if ok {
			return text, nil
		}
	}
	return "", unfit(junctor.CodeInvalid, credentialsJSON, "there is no credential for Google Cloud Vision: give the JSON of a service account or an API key, or ask the operator to store one for server "+ID+" under the name "+VisionCredential)
}

// annotateRequest is the body of an images:annotate for one image.
func annotateRequest(image []byte) []byte {
	b := make([]byte, 0, base64.StdEncoding.EncodedLen(len(image))+128)
	b = append(b, `{"requests":[{"image":{"content":"`...)
	b = base64.StdEncoding.AppendEncode(b, image)
	return append(b, `"},"features":[{"type":"DOCUMENT_TEXT_DETECTION"}]}]}`...)
}

// annotate asks Cloud Vision. A token that it does not take any more, though
// its time is not over, is got anew once.
func (v *vision) annotate(ctx context.Context, c credential, body []byte) (Text, error) {
	if c.account == nil {
		answer, err := v.post(ctx, body, "X-Goog-Api-Key", c.apiKey.Reveal())
		if err != nil {
			return Text{}, err
		}
		return answer.text(c.apiKey.Reveal())
	}
	for again := false; ; again = true {
		token, err := v.tokens.get(ctx, c.account)
		if err != nil {
			return Text{}, err
		}
		answer, err := v.post(ctx, body, "Authorization", "Bearer "+token.Reveal())
		switch {
		case err != nil:
			return Text{}, err
		case answer.status == http.StatusUnauthorized:
			v.tokens.drop(c.account, token)
			if !again {
				continue
			}
		}
		return answer.text(token.Reveal())
	}
}

// post sends the credential as a header: an address ends up in logs.
func (v *vision) post(ctx context.Context, body []byte, header, value string) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.base.String()+"/v1/images:annotate", bytes.NewReader(body))
	if err != nil {
		return nil, failure("the answer of Google Cloud Vision", err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set(header, value)
	resp, err := v.client.Do(req)
	if err != nil {
		return nil, visionFailure(err)
	}
	defer resp.Body.Close()
	data, err := readUpTo(resp.Body, MaxAnswer)
	switch {
	case err != nil:
		return nil, visionFailure(err)
	case data == nil:
		return nil, junctor.Errorf(junctor.CodeUpstream, "the answer of Google Cloud Vision is larger than %d MiB: cut the image into parts", MaxAnswer>>20)
	}
	return &answer{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), body: data}, nil
}

func visionFailure(err error) error {
	e := failure("the answer of Google Cloud Vision", err)
	switch e.Code { //nolint:exhaustive // the others hold as they are
	case junctor.CodeDenied: // what egress refuses is not the caller being refused here
		e.Code = junctor.CodeUnreachable
	case junctor.CodeTooLarge:
		e.Code = junctor.CodeUpstream
	}
	return e
}
