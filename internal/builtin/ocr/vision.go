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

// visionClient reads images with Google Cloud Vision.
type visionClient struct {
	base        *url.URL
	client      *http.Client
	images      *imageLoader
	credentials Credentials // may be nil
	tokens      *tokenCache
}

// newVisionClient makes a client with an empty cache of tokens.
func newVisionClient(base *url.URL, client *http.Client, im *imageLoader, c Credentials) *visionClient {
	return &visionClient{
		base: base, client: client, images: im, credentials: c,
		tokens: &tokenCache{client: client, grants: map[[sha256.Size]byte]*tokenGrant{}},
	}
}

// readImage is the tool google_vision_ocr.
func (v *visionClient) readImage(ctx context.Context, call *builtin.Call, in visionInput) (Text, error) {
	cred, stored, err := v.chooseCredential(ctx, call, in.Credentials)
	if err != nil {
		return Text{}, err
	}
	image, err := v.images.loadImage(ctx, in.ImagePath)
	if err != nil {
		return Text{}, err
	}
	text, err := v.annotateImage(ctx, cred, annotateRequest(image))
	if wrong, ok := errors.AsType[*malformedCredentialError](err); ok {
		return Text{}, newCredentialError(wrong.error, stored)
	}
	return text, err
}

// chooseCredential returns the credential of the call, or the stored one.
func (v *visionClient) chooseCredential(ctx context.Context, call *builtin.Call, given *seal.Secret) (c credential, stored bool, err error) {
	var text string
	if given != nil && !given.IsZero() {
		text = given.Reveal()
	} else {
		if text, err = v.loadStoredCredential(ctx, call); err != nil {
			return c, true, err
		}
		stored = true
	}
	if c, err = parseCredential(text, v.base); err != nil {
		return c, stored, newCredentialError(err, stored)
	}
	return c, stored, nil
}

// loadStoredCredential returns the credential that is stored for the caller's
// tenant.
func (v *visionClient) loadStoredCredential(ctx context.Context, call *builtin.Call) (string, error) {
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
	return "", newArgumentError(junctor.CodeInvalid, argCredentials, "there is no credential for Google Cloud Vision: give the JSON of a service account or an API key, or ask the operator to store one for server "+ID+" under the name "+VisionCredential)
}

// annotateRequest is the body of an images:annotate request for one image.
func annotateRequest(image []byte) []byte {
	b := make([]byte, 0, base64.StdEncoding.EncodedLen(len(image))+128)
	b = append(b, `{"requests":[{"image":{"content":"`...)
	b = base64.StdEncoding.AppendEncode(b, image)
	return append(b, `"},"features":[{"type":"DOCUMENT_TEXT_DETECTION"}]}]}`...)
}

// annotateImage asks Cloud Vision. If a cached token is refused, it obtains a
// new one and tries once more.
func (v *visionClient) annotateImage(ctx context.Context, c credential, body []byte) (Text, error) {
	if c.account == nil {
		answer, err := v.postRequest(ctx, body, "X-Goog-Api-Key", c.apiKey.Reveal())
		if err != nil {
			return Text{}, err
		}
		return answer.readText(c.apiKey.Reveal())
	}
	for again := false; ; again = true {
		token, err := v.tokens.getToken(ctx, c.account)
		if err != nil {
			return Text{}, err
		}
		answer, err := v.postRequest(ctx, body, "Authorization", "Bearer "+token.Reveal())
		switch {
		case err != nil:
			return Text{}, err
		// Google may revoke a token before it expires.
		case answer.status == http.StatusUnauthorized:
			v.tokens.dropToken(c.account, token)
			if !again {
				continue
			}
		}
		return answer.readText(token.Reveal())
	}
}

// postRequest sends the credential in a header, since URLs end up in logs.
func (v *visionClient) postRequest(ctx context.Context, body []byte, header, value string) (*visionResponse, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.base.String()+"/v1/images:annotate", bytes.NewReader(body))
	if err != nil {
		return nil, newExchangeError("the answer of Google Cloud Vision", err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set(header, value)
	resp, err := v.client.Do(req)
	if err != nil {
		return nil, newVisionError(err)
	}
	defer resp.Body.Close()
	data, err := readUpTo(resp.Body, MaxAnswer)
	switch {
	case err != nil:
		return nil, newVisionError(err)
	case data == nil:
		return nil, junctor.Errorf(junctor.CodeUpstream, "the answer of Google Cloud Vision is larger than %d MiB: cut the image into parts", MaxAnswer>>20)
	}
	return &visionResponse{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), body: data}, nil
}

// newVisionError describes a failed request.
func newVisionError(err error) error {
	e := newExchangeError("the answer of Google Cloud Vision", err)
	switch e.Code { //nolint:exhaustive // the others stay as they are
	case junctor.CodeDenied: // egress denied the address; the caller itself is not denied
		e.Code = junctor.CodeUnreachable
	case junctor.CodeTooLarge:
		e.Code = junctor.CodeUpstream
	}
	return e
}
