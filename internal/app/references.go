package app

import (
	"context"
	"os"

	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// reader reads references to credentials, such as env:NAME, on this machine.
func (a *App) reader() credential.Reader {
	return credential.Reader{Lookup: os.LookupEnv, DataDir: a.cfg.DataDir}
}

// readSetting reads a reference that stands in the settings, which are the
// operator's.
func (a *App) readSetting(ctx context.Context, text string) (seal.Secret, error) {
	reader := a.reader()
	reference, err := admission.New(admission.Options{CheckReference: reader.Check}).Operator(text)
	if err != nil {
		return seal.Secret{}, err
	}
	return reader.Read(ctx, reference)
}
