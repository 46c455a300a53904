package admission

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
)

// believes reports whether a principal may have the annotations of a server's
// tools count.
func believes(p *junctor.Principal) bool {
	return p.Issuer == junctor.IssuerLocal || p.Has(junctor.ScopeAdmin)
}

// checkBelief refuses believe_annotations of whoever is neither the operator nor an
// admin. Whoever believes a server believes the place that it leads to and the
// document that it is made of: another one takes an admin again.
func checkBelief(p *junctor.Principal, row, former *junctor.Server) error {
	switch {
	case !row.BelieveAnnotations || believes(p):
		return nil
	case former == nil || !former.BelieveAnnotations:
		return junctor.Errorf(junctor.CodeDenied, "believe_annotations is set by the operator or an admin: leave it out, or ask an admin to set it")
	case !sameAddress(&row.Connection, &former.Connection) || !sameDocument(row.API, former.API):
		return junctor.Errorf(junctor.CodeDenied, "an admin set believe_annotations for the connection and the document that the server %q has: send believe_annotations false with this change, or ask an admin to make it", row.ID)
	}
	return nil
}

// Replacement judges whether p may give a server another document. Whoever believes
// a server believes what stands at the address of its document, also when it changes
// there, and no other document.
func (j *Judge) Replacement(ctx context.Context, p *junctor.Principal, former *junctor.Server) error {
	if !former.BelieveAnnotations || believes(p) {
		return nil
	}
	err := junctor.Errorf(junctor.CodeDenied, "an admin set believe_annotations for the document that the server %q has: set believe_annotations to false first, or ask an admin to import the other one", former.ID)
	j.record(ctx, p, former.ID, err)
	return err
}
