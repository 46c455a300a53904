package admission

import (
	"context"
	"maps"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// mayVouchForTools reports whether a principal may decide that the annotations of a
// server's tools count.
func mayVouchForTools(p *junctor.Principal) bool {
	return p.Issuer == junctor.IssuerLocal || p.Has(junctor.ScopeAdmin)
}

// checkVouching refuses believe_annotations, and statements of what a tool does, from a principal
// that is neither the operator nor an admin. An admin who sets them vouches for the
// address and the document that the server has at that moment. So another address or
// document requires an admin again.
func checkVouching(p *junctor.Principal, row, former *junctor.Server) error {
	if mayVouchForTools(p) {
		return nil
	}
	if former == nil {
		former = &junctor.Server{Connection: junctor.Connection{Transport: row.Transport}}
	}
	if row.BelieveAnnotations && !former.BelieveAnnotations {
		return junctor.Errorf(junctor.CodeDenied, "only the operator or an admin can set believe_annotations: omit it, or ask an admin to set it")
	}
	stated := ""
	for _, name := range slices.Sorted(maps.Keys(row.Overrides)) {
		o, before := row.Overrides[name], former.Overrides[name]
		if field := o.ChangedStatement(&before); field != "" {
			return junctor.Errorf(junctor.CodeDenied, "only the operator or an admin can set overrides.%s.%s: leave it as it is, or ask an admin to set it", name, field)
		}
		if o.Vouches() {
			stated = name + "." + o.Statement()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(former.Overrides)) {
		if _, kept := row.Overrides[name]; !kept {
			before := former.Overrides[name]
			if field := (&junctor.Override{}).ChangedStatement(&before); field != "" {
				return junctor.Errorf(junctor.CodeDenied, "only the operator or an admin can take back overrides.%s.%s: leave it as it is, or ask an admin", name, field)
			}
		}
	}
	if sameAddress(&row.Connection, &former.Connection) && sameDocument(row.API, former.API) {
		return nil
	}
	switch {
	case row.BelieveAnnotations:
		return junctor.Errorf(junctor.CodeDenied, "an admin set believe_annotations for the connection and the document that the server %q has: send believe_annotations false with this change, or ask an admin to make it", row.ID)
	case stated != "":
		return junctor.Errorf(junctor.CodeDenied, "an admin set overrides.%s for the connection and the document that the server %q has: leave it out of this change, or ask an admin to make it", stated, row.ID)
	}
	return nil
}

// Vouches reports whether an admin vouches for the server's tools: their annotations
// count, or an override states what one of them does.
func Vouches(row *junctor.Server) bool {
	if row.BelieveAnnotations {
		return true
	}
	for _, o := range row.Overrides {
		if o.Vouches() {
			return true
		}
	}
	return false
}

// Replacement judges whether p may give a server another document. An admin who vouches
// for a server vouches for the document at its address, even if the text there changes,
// and for no other document.
func (j *Judge) Replacement(ctx context.Context, p *junctor.Principal, former *junctor.Server) error {
	var err error
	switch {
	case mayVouchForTools(p):
	case former.BelieveAnnotations:
		err = junctor.Errorf(junctor.CodeDenied, "an admin set believe_annotations for the document that the server %q has: set believe_annotations to false first, or ask an admin to import the other one", former.ID)
	case Vouches(former):
		err = junctor.Errorf(junctor.CodeDenied, "an admin stated in overrides what tools of the server %q do, for the document that it has: ask an admin to import the other one", former.ID)
	}
	if err == nil {
		return nil
	}
	j.recordRefusal(ctx, p, former.ID, err)
	return err
}
