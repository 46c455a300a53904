package cli

import (
	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
)

// grantFlags are the flags for an OAuth grant other than client credentials.
type grantFlags struct {
	name                           string // of the grant; the others need it
	subject, subjectType, audience string // the token that is exchanged, and for whom

	// The client at the identity provider, for the grant enterprise.
	idpTokenURL, idpClientID, idpSecret string
}

// addTo adds the flags to a command.
func (g *grantFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&g.name, "grant", "", "OAuth grant instead of client credentials: jwt-bearer, token-exchange or enterprise")
	flags.StringVar(&g.subject, "subject", "", "with --grant: the assertion, the token to exchange or the identity token; given as with --bearer")
	flags.StringVar(&g.subjectType, "subject-type", "", "with --grant token-exchange: access_token, id_token, refresh_token or jwt (default access_token)")
	flags.StringVar(&g.audience, "audience", "", "with --grant token-exchange: `name` of the audience of the token (default the server)")
	flags.StringVar(&g.idpTokenURL, "idp-token-url", "", "with --grant enterprise: `URL` of the identity provider's token endpoint")
	flags.StringVar(&g.idpClientID, "idp-client-id", "", "with --grant enterprise: client `id` at the identity provider")
	flags.StringVar(&g.idpSecret, "idp-secret", "", "with --grant enterprise: secret of --idp-client-id; given as with --bearer")
}

// addGrant adds the grant that the flags describe to an auth, and reads its
// secrets.
func (c *cli) addGrant(g *grantFlags, a *junctor.Auth) error {
	a.Grant, a.SubjectType, a.Audience, a.IDPTokenURL, a.IDPClientID = junctor.OAuthGrant(g.name), junctor.SubjectType(g.subjectType), g.audience, g.idpTokenURL, g.idpClientID
	for _, one := range []struct {
		flag, value string
		to          *string
	}{{"subject", g.subject, &a.Subject}, {"idp-secret", g.idpSecret, &a.IDPSecret}} {
		if one.value == "" {
			continue
		}
		text, err := c.resolveSecret(one.flag, one.value)
		if err != nil {
			return err
		}
		*one.to = text
	}
	return nil
}
