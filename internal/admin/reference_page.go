package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

//go:embed reference.css
var referenceStyle string

//go:embed reference.html
var referenceTemplate string

// ServeReference answers with the reference of this API as one HTML page, without scripts
// and without anything from elsewhere. A caller who may read the OpenAPI document may read it. A
// browser that is not signed in is sent to the sign-in page.
func (h *Handler) ServeReference(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	defer h.recoverPanic(w, r)
	a := h.api()
	if err := a.checkReferenceCaller(r); err != nil {
		if junctor.CodeOf(err) == junctor.CodeUnauthenticated && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, "/login?next="+ReferencePath, http.StatusSeeOther)
			return
		}
		writeProblem(w, a.toProblem(r.Context(), err))
		return
	}
	body, err := a.referencePage()
	if err != nil {
		writeProblem(w, a.toProblem(r.Context(), err))
		return
	}
	sum := sha256.Sum256([]byte(referenceStyle))
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
	head.Set("X-Frame-Options", "DENY")
	_, _ = w.Write(body)
}

// renderReference renders the page.
func (a *api) renderReference() ([]byte, error) {
	t, err := template.New("reference").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(referenceStyle) }, //nolint:gosec // our own file
		"code":  splitCode,
	}).Parse(referenceTemplate)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the template of the API reference is invalid: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newAPIReference(a.huma.OpenAPI())); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "cannot render the API reference: %w", err)
	}
	return b.Bytes(), nil
}

// textPart is a piece of a text; the pieces between backquotes are code.
type textPart struct {
	Text   string
	IsCode bool
}

// splitCode splits a text at its backquotes.
func splitCode(text string) []textPart {
	pieces := strings.Split(text, "`")
	parts := make([]textPart, 0, len(pieces))
	for i, s := range pieces {
		parts = append(parts, textPart{s, i%2 == 1})
	}
	return parts
}
