// Package routes holds every route of a whole instance to one table of who may
// come in: a route that the table does not know, and one that answers
// otherwise, fails.
package routes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// matrix says for every route, and every way to use it, with which status each
// caller is answered.
//
//   - nobody: without a credential, or with a key that has expired or was revoked
//   - tenant: an admin of another tenant, who names what is in this one
//   - viewer, dev, admin: a key of a user with that role
//   - agent: an agent's key
//   - login: an admin's browser, from the console
//   - x-site: the same browser, sent by a page elsewhere
//   - bare: the same browser, without the header that only the console sends
//
// Two more stand in no row, as no route makes a difference: a page elsewhere
// that says so (Origin) is refused with 403, and a Host that is not ours with 421,
// but for the two routes of health checks.
//
// 200! is an answer of JSON-RPC that is an error. {kind} in a path is the id of such a thing: an admin's, in the tenant default.
const matrix = `
                                           nobody  tenant  viewer     dev   admin   agent   login  x-site    bare
GET /healthz                                  200     200     200     200     200     200     200     200     200
GET /readyz                                   200     200     200     200     200     200     200     200     200
GET /                                         200     200     200     200     200     200     200     200     200
GET /start                                    200     200     200     200     200     200     200     200     200
GET /start/                                   200     200     200     200     200     200     200     200     200
GET /attention                                200     200     200     200     200     200     200     200     200
GET /attention/                               200     200     200     200     200     200     200     200     200
GET /servers                                  200     200     200     200     200     200     200     200     200
GET /servers/                                 200     200     200     200     200     200     200     200     200
GET /tools                                    200     200     200     200     200     200     200     200     200
GET /tools/                                   200     200     200     200     200     200     200     200     200
GET /playground                               200     200     200     200     200     200     200     200     200
GET /playground/                              200     200     200     200     200     200     200     200     200
GET /agents                                   200     200     200     200     200     200     200     200     200
GET /agents/                                  200     200     200     200     200     200     200     200     200
GET /calls                                    200     200     200     200     200     200     200     200     200
GET /calls/                                   200     200     200     200     200     200     200     200     200
GET /usage                                    200     200     200     200     200     200     200     200     200
GET /usage/                                   200     200     200     200     200     200     200     200     200
GET /apps                                     200     200     200     200     200     200     200     200     200
GET /apps/                                    200     200     200     200     200     200     200     200     200
GET /gallery                                  200     200     200     200     200     200     200     200     200
GET /gallery/                                 200     200     200     200     200     200     200     200     200
GET /audit                                    200     200     200     200     200     200     200     200     200
GET /audit/                                   200     200     200     200     200     200     200     200     200
GET /models                                   200     200     200     200     200     200     200     200     200
GET /models/                                  200     200     200     200     200     200     200     200     200
GET /events                                   200     200     200     200     200     200     200     200     200
GET /events/                                  200     200     200     200     200     200     200     200     200
GET /triggers                                 200     200     200     200     200     200     200     200     200
GET /policies                                 200     200     200     200     200     200     200     200     200
GET /triggers/                                200     200     200     200     200     200     200     200     200
GET /policies/                                200     200     200     200     200     200     200     200     200
GET /sources                                  200     200     200     200     200     200     200     200     200
GET /sources/                                 200     200     200     200     200     200     200     200     200
GET /deliveries                               200     200     200     200     200     200     200     200     200
GET /deliveries/                              200     200     200     200     200     200     200     200     200
GET /dead                                     200     200     200     200     200     200     200     200     200
GET /dead/                                    200     200     200     200     200     200     200     200     200
GET /endpoints                                200     200     200     200     200     200     200     200     200
GET /endpoints/                               200     200     200     200     200     200     200     200     200
GET /chains                                   200     200     200     200     200     200     200     200     200
GET /chains/                                  200     200     200     200     200     200     200     200     200
GET /chain-agents                             200     200     200     200     200     200     200     200     200
GET /chain-agents/                            200     200     200     200     200     200     200     200     200
GET /users                                    200     200     200     200     200     200     200     200     200
GET /users/                                   200     200     200     200     200     200     200     200     200
GET /keys                                     200     200     200     200     200     200     200     200     200
GET /keys/                                    200     200     200     200     200     200     200     200     200
GET /settings                                 200     200     200     200     200     200     200     200     200
GET /chat                                     200     200     200     200     200     200     200     200     200
GET /chat/                                    200     200     200     200     200     200     200     200     200
GET /settings/                                200     200     200     200     200     200     200     200     200
GET /assets/                                  404     404     404     404     404     404     404     404     404
GET /stdio                                    404     404     404     404     404     404     404     404     404
GET /docs                                     308     308     308     308     308     308     308     308     308
GET /docs/                                    200     200     200     200     200     200     200     200     200
GET /api/v1/reference                         401     200     200     200     200     200     200     403     200
GET /metrics                                  401     403     403     403     200     403     401     401     401
GET /debug/pprof/                             401     403     403     403     200     403     401     401     401
GET /debug/pprof/profile?seconds=1            401     403     403     403     200     403     401     401     401
GET /debug/pprof/trace?seconds=0.01           401     403     403     403     200     403     401     401     401
GET /login                                    200     200     200     200     200     200     200     200     200
POST /login                                   401     401     401     401     401     401     401     403     401
POST /logout                                  303     303     303     303     303     303     303     403     303
GET /login/oidc                               303     303     303     303     303     303     303     403     303
GET /login/callback?state=x&code=x            403     403     403     403     403     403     403     403     403
GET /connect/{guarded}                        401     401     401     401     401     401     200     401     200
POST /connect/{guarded}                       401     401     401     401     401     401     200     403     200
GET /connected?state=x&code=x                 200     200     200     200     200     200     200     200     200
GET /oauth/client.json                        404     404     404     404     404     404     404     404     404
GET /oauth/authorize                          303     303     303     303     303     303     303     303     303
POST /oauth/authorize                         401     401     401     401     401     401     400     403     400
GET /.well-known/oauth-authorization-server     200     200     200     200     200     200     200     200     200
POST /oauth/token                             400     400     400     400     400     400     400     400     400
POST /oauth/revoke                            200     200     200     200     200     200     200     200     200
POST /oauth/register                          201     201     201     201     201     201     201     201     201

GET /.well-known/oauth-protected-resource     200     200     200     200     200     200     200     200     200
GET /.well-known/oauth-protected-resource/mcp     200     200     200     200     200     200     200     200     200
GET /.well-known/oauth-protected-resource/mcp/s/{server}     200     200     200     200     200     200     200     200     200
GET /.well-known/oauth-protected-resource/mcp/a/{agent}     200     200     200     200     200     200     200     200     200

POST /mcp (list)                              401     200     200     200     200     200     401     401     401
POST /mcp (call)                              401     400     403     200     200     200     401     401     401
POST /mcp (hello)                             401     200     200     200     200     200     401     401     401
GET /mcp                                      401     400     400     400     400     400     401     401     401
DELETE /mcp                                   401     400     400     400     400     400     401     401     401
PUT /mcp                                      401     405     405     405     405     405     401     401     401
POST /mcp/s/{server} (list)                   401     404     200     200     200     200     401     401     401
POST /mcp/s/{server} (call)                   401     404     403     200     200     200     401     401     401
POST /mcp/a/{agent} (list)                    401     404     404     404     200     404     401     401     401
POST /mcp/a/{agent} (call)                    401     404     404     404     200     404     401     401     401
POST /mcp/request (list)                      401     200     200     200     200     200     401     401     401
POST /mcp/request (call)                      401    200!    200!     200     200     200     401     401     401
POST /mcp/a/{agent}/request (call)            401     404     404     404     200     404     401     401     401
GET /mcp/tools                                401     200     200     200     200     200     401     401     401
GET /mcp/a/{agent}/tools                      401     404     404     404     200     404     401     401     401
POST /mcp/call                                401     400     403     200     200     200     401     401     401
POST /mcp/call (endpoint)                     401     200     403     200     200     403     401     401     401
POST /mcp/a/{agent}/call                      401     404     404     404     200     404     401     401     401
POST /a/{agent}/v1/chat/completions           401     404     404     404     200     404     401     401     401
GET /a/{agent}/v1/models                      401     404     404     404     200     404     401     401     401
POST /mcp/a/{agent}/call (endpoint)           401     404     404     404     403     404     401     401     401
GET /a2a/{published}/.well-known/agent-card.json     200     200     200     200     200     200     200     200     200
GET /.well-known/agent-card.json              200     200     200     200     200     200     200     200     200
GET /a2ui/catalogs/{document}                 200     200     200     200     200     200     200     200     200
POST /a2a/{published}                         401     404     403     200     200     200     401     401     401
POST /a2a/{published}/                        401     404     403     200     200     200     401     401     401
GET /a2a/{published}/rest/{path...}           401     404     403     400     400     400     401     401     401
GET /sse                                      401     200     200     200     200     200     401     401     401
POST /messages                                401     404     404     404     404     404     401     401     401

GET /api/v1/servers                           401     200     200     200     200     200     200     403     200
GET /api/v1/server-health                     401     200     200     200     200     200     200     403     200
POST /api/v1/servers                          401     201     403     201     201     403     201     403     403
POST /api/v1/servers/probe                    401     200     403     200     200     403     200     403     403
POST /api/v1/servers/probe/steps              401     200     403     200     200     403     200     403     403
POST /api/v1/servers/preview                  401     200     403     200     200     403     200     403     403
POST /api/v1/servers/preview/steps            401     200     403     200     200     403     200     403     403
POST /api/v1/servers/preview/document         401     422     403     422     422     403     422     403     403
GET /api/v1/servers/{server}/document         401     404     403     403     422     403     422     403     422
GET /api/v1/servers/{server}/validate         401     404     403     403     422     403     422     403     422
GET /api/v1/servers/{server}/suggestions      401     404     403     403     422     403     422     403     422
POST /api/v1/servers/{server}/suggestions     401     404     403     403     422     403     422     403     403
POST /api/v1/servers/{server}/suggestions/steps 401   404     403     403     422     403     422     403     403
POST /api/v1/servers/{server}/suggestions/approve 401 404     403     403     422     403     422     403     403
POST /api/v1/servers/{server}/suggestions/reject 401  404     403     403     422     403     422     403     403
POST /api/v1/servers/{server}/import          401     404     403     403     422     403     422     403     403
GET /api/v1/servers/{server}                  401     404     200     200     200     200     200     403     200
GET /api/v1/servers/{server}/offer            401     404     200     200     200     200     200     403     200
POST /api/v1/servers/{server}/test            401     404     403     200     200     403     200     403     403
POST /api/v1/servers/{server}/test/steps      401     404     403     200     200     403     200     403     403
PATCH /api/v1/servers/{server}                401     404     403     403     200     403     200     403     403
POST /api/v1/servers/{server}/enable          401     404     403     403     200     403     200     403     403
POST /api/v1/servers/{server}/disable         401     404     403     403     200     403     200     403     403
DELETE /api/v1/servers/{server}               401     404     403     403     204     403     204     403     403
POST /api/v1/servers/{guarded}/login          401     404     403     403     201     404     201     403     403
POST /api/v1/servers/{guarded}/login/finish   401     404     403     422     422     404     422     403     403
GET /api/v1/servers/{guarded}/login           401     404     403     403     200     404     200     403     200
DELETE /api/v1/servers/{guarded}/login        401     404     403     403     204     404     204     403     403
GET /api/v1/servers/{guarded}/traces          401     404     403     200     200     404     200     403     200

GET /api/v1/tools                             401     200     200     200     200     200     200     403     200
GET /api/v1/tools/{tool}                      401     404     200     200     200     200     200     403     200
POST /api/v1/tools/{tool}/call                401     404     403     200     200     200     200     403     403
POST /api/v1/run                              401     404     403     200     200     200     200     403     403
GET /api/v1/apps                              401     200     200     200     200     200     200     403     200
GET /api/v1/apps/{tool}                       401     404     422     422     422     422     422     403     422
PUT /api/v1/apps/{tool}/approval              401     404     403     403     422     403     422     403     403
DELETE /api/v1/apps/{tool}/approval           401     404     403     403     204     403     204     403     403
POST /api/v1/views                            401     404     422     422     422     422     422     403     403
GET /api/v1/views                             401     200     200     200     200     200     200     403     200
GET /api/v1/views/{view}                      401     404     404     404     404     404     404     403     404
DELETE /api/v1/views/{view}                   401     404     404     404     404     404     404     403     403
POST /api/v1/views/{view}/rpc                 401     404     404     404     404     404     404     403     403
POST /api/v1/views/{view}/log                 401     404     404     404     404     404     404     403     403
POST /api/v1/views/{view}/answers/{ask}       401     404     404     404     404     404     404     403     403
GET /api/v1/views/{view}/tools                401     404     404     404     404     404     404     403     404
POST /api/v1/views/{view}/tools/{ask}/call    401     404     404     404     404     404     404     403     403
GET /api/v1/views/mail                        401     200     200     200     200     200     200     403     200
GET /api/v1/views/{view}/log                  401     404     404     404     404     404     404     403     404
PUT /api/v1/tools/{tool}/tag                  401     404     403     403     200     403     200     403     403
DELETE /api/v1/tools/{tool}/tag               401     404     403     403     200     403     200     403     403
GET /api/v1/tools/changes                     401     200     200     200     200     200     200     403     200

GET /api/v1/roles                             401     200     200     200     200     200     200     403     200
PUT /api/v1/roles/{role}                      401     200     403     403     200     403     200     403     403
DELETE /api/v1/roles/{role}                   401     404     403     403     204     403     204     403     403

GET /api/v1/agents                            401     200     200     200     200     200     200     403     200
POST /api/v1/agents                           401     201     403     201     201     403     201     403     403
GET /api/v1/agents/{agent}                    401     404     200     200     200     404     200     403     200
PATCH /api/v1/agents/{agent}                  401     404     403     403     200     403     200     403     403
DELETE /api/v1/agents/{agent}                 401     404     403     403     204     403     204     403     403
GET /api/v1/agents/{agent}/tools              401     404     200     200     200     404     200     403     200
POST /api/v1/agents/{agent}/runs              401     404     403     404     200     404     200     403     403

GET /api/v1/models                            401     200     403     200     200     403     200     403     200
POST /api/v1/models                           401     201     403     403     201     403     201     403     403
GET /api/v1/models/{model}                    401     404     403     200     200     403     200     403     200
PATCH /api/v1/models/{model}                  401     404     403     403     200     403     200     403     403
DELETE /api/v1/models/{model}                 401     404     403     403     204     403     204     403     403
POST /api/v1/models/{model}/test              401     404     403     403     200     403     200     403     403
GET /api/v1/component-catalogs                401     200     200     200     200     200     200     403     200
GET /api/v1/component-catalogs/{catalog}    401     404     200     200     200     200     200     403     200
PUT /api/v1/component-catalogs/{catalog}    401     200     403     403     200     403     200     403     403
DELETE /api/v1/component-catalogs/{catalog}     401     404     403     403     204     403     204     403     403

GET /api/v1/keys                              401     200     403     200     200     403     200     403     200
POST /api/v1/keys                             401     201     403     201     201     403     201     403     403
POST /api/v1/keys (stronger)                  401     201     403     403     201     403     201     403     403
POST /api/v1/keys/{key}/rotate                401     404     403     404     200     403     200     403     403
DELETE /api/v1/keys/{key}                     401     404     403     404     204     403     204     403     403

GET /api/v1/users                             401     200     403     403     200     403     200     403     200
POST /api/v1/users                            401     201     403     403     201     403     201     403     403
GET /api/v1/users/{user}                      401     404     403     403     200     403     200     403     200
PATCH /api/v1/users/{user}                    401     404     403     403     200     403     200     403     403
DELETE /api/v1/users/{user}                   401     404     403     403     200     403     200     403     403
PUT /api/v1/users/{user}/password             401     404     403     403     204     403     204     403     403
POST /api/v1/users/{user}/link                401     404     403     403     200     403     200     403     403

GET /api/v1/logins                            401     200     200     200     200     200     200     403     200
DELETE /api/v1/logins/{login}                 401     404     404     404     204     404     204     403     403

GET /api/v1/consents                          401     200     200     200     200     200     200     403     200
DELETE /api/v1/consents/{consent}             401     404     404     404     204     404     204     403     403

GET /api/v1/tenants                           401     403     403     403     200     403     200     403     200
POST /api/v1/tenants                          401     403     403     403     201     403     201     403     403
POST /api/v1/tenants/{other}/key              401     403     403     403     200     403     200     403     403

GET /api/v1/whoami                            401     200     200     200     200     200     200     403     200

GET /api/v1/me                                401     200     200     200     200     200     200     403     200
GET /api/v1/me/credentials                    401     403     403     200     200     403     200     403     200
GET /api/v1/servers/{personal}/credentials/me 401     403     403     200     200     403     200     403     200
PUT /api/v1/servers/{personal}/credentials/me 401     403     403     200     200     403     200     403     403
DELETE /api/v1/servers/{personal}/credentials/me 401     403     403     204     204     403     204     403     403
PUT /api/v1/me/sources                        401     403     200     200     200     403     200     403     403
PUT /api/v1/me/password                       401     403     403     403     403     403     204     403     403

GET /api/v1/chains                            401     200     200     200     200     403     200     403     200
GET /api/v1/chains/events                     401     200     200     200     200     403     200     403     200
GET /api/v1/chains/agents                     401     200     200     200     200     403     200     403     200
POST /api/v1/chains/agents/find               401     404     403     404     404     403     404     403     403
POST /api/v1/chains/{other}/rewind            401     403     403     403     404     403     404     403     403

GET /api/v1/calls                             401     200     200     200     200     403     200     403     200
GET /api/v1/calls/tail                        401     200     200     200     200     403     200     403     200
GET /api/v1/calls/history                     401     200     200     200     200     403     200     403     200
GET /api/v1/calls/{call}                      401     404     200     200     200     403     200     403     200
GET /api/v1/calls/export                      401     200     200     200     200     403     200     403     200

GET /api/v1/metrics?by=server                 401     200     200     200     200     403     200     403     200
GET /api/v1/metrics/deliveries                401     200     200     200     200     403     200     403     200
GET /api/v1/metrics/servers                   401     200     200     200     200     403     200     403     200
GET /api/v1/attention                         401     200     200     200     200     403     200     403     200
GET /api/v1/usage                             401     200     200     200     200     403     200     403     200

POST /hooks/{source}                          401     401     401     401     401     401     401     401     401
POST /hooks/{other}/{source}                  401     401     401     401     401     401     401     401     401

GET /api/v1/events                            401     200     200     200     200     403     200     403     200
POST /api/v1/events                           401     202     403     202     202     403     202     403     403
GET /api/v1/events/{event}                    401     404     200     200     200     403     200     403     200
POST /api/v1/events/{event}/replay            401     404     403     403     202     403     202     403     403
GET /api/v1/triggers                          401     200     200     200     200     403     200     403     200
GET /api/v1/triggers/ready                    401     200     200     200     200     403     200     403     200
POST /api/v1/triggers                         401     201     403     403     201     403     201     403     403
POST /api/v1/triggers/test                    401     200     403     403     200     403     200     403     403
GET /api/v1/triggers/{trigger}                401     404     200     200     200     403     200     403     200
PATCH /api/v1/triggers/{trigger}              401     404     403     403     200     403     200     403     403
DELETE /api/v1/triggers/{trigger}             401     404     403     403     204     403     204     403     403
GET /api/v1/sources                           401     200     200     200     200     403     200     403     200
POST /api/v1/sources                          401     201     403     403     201     403     201     403     403
POST /api/v1/sources (redis)                  401     403     403     403     201     403     201     403     403
GET /api/v1/sources/{source}                  401     404     200     200     200     403     200     403     200
PATCH /api/v1/sources/{source}                401     404     403     403     200     403     200     403     403
DELETE /api/v1/sources/{source}               401     404     403     403     204     403     204     403     403
GET /api/v1/schedules                         401     200     200     200     200     403     200     403     200
GET /api/v1/schedules/times?cron=@daily       401     200     200     200     200     403     200     403     200
PUT /api/v1/schedules/{schedule}              401     200     403     403     200     403     200     403     403
DELETE /api/v1/schedules/{schedule}           401     404     403     403     204     403     204     403     403

GET /api/v1/rooms                             401     200     200     200     200     200     200     403     200
POST /api/v1/rooms                            401     201     403     201     201     403     201     403     403
GET /api/v1/rooms/{room}                      401     404     404     404     200     404     200     403     200
PATCH /api/v1/rooms/{room}                    401     404     403     404     200     404     200     403     403
DELETE /api/v1/rooms/{room}                   401     404     403     404     204     404     204     403     403
GET /api/v1/rooms/{room}/messages             401     404     404     404     200     404     200     403     200
GET /api/v1/rooms/{room}/search?q=x           401     404     404     404     200     404     200     403     200
GET /api/v1/rooms/{room}/export               401     404     404     404     200     404     200     403     200
GET /api/v1/rooms/{room}/tools                401     404     404     404     200     404     200     403     200
GET /api/v1/rooms/{room}/approvals            401     404     404     404     200     404     200     403     200
GET /api/v1/rooms/{room}/stream               401     404     404     404     200     404     200     403     200
POST /api/v1/rooms/{room}/runs                401     404     403     404     200     404     200     403     403
POST /api/v1/rooms/{room}/runs/{run}/stop 401         404     403     404     204     404     204     403     403
POST /api/v1/rooms/{room}/messages/{message}/report 401 404 403       404     204     404     204     403     403

GET /api/v1/limits                            401     200     200     200     200     200     200     403     200
PATCH /api/v1/limits                          401     200     403     403     200     403     200     403     403

GET /api/v1/policies                          401     200     200     200     200     403     200     403     200
PUT /api/v1/policies                          401     200     403     403     200     403     200     403     403
GET /api/v1/policies/{policy}                 401     404     200     200     200     403     200     403     200
PUT /api/v1/policies/{policy}                 401     200     403     403     200     403     200     403     403
DELETE /api/v1/policies/{policy}              401     404     403     403     204     403     204     403     403
POST /api/v1/policies/check                   401     200     403     403     200     403     200     403     403
POST /api/v1/policies/simulate                401     200     403     403     200     403     200     403     403
POST /api/v1/policies/test                    401     200     403     403     200     403     200     403     403
GET /api/v1/policy-templates                  401     200     200     200     200     403     200     403     200
GET /api/v1/calls/{call}/policies             401     404     403     403     200     403     200     403     200

GET /api/v1/secrets                           401     200     403     200     200     403     200     403     200
GET /api/v1/secrets/{server}/{secret}         401     404     403     403     200     403     200     403     200
PUT /api/v1/secrets/{server}/{secret}         401     200     403     403     200     403     200     403     403
DELETE /api/v1/secrets/{server}/{secret}      401     404     403     403     204     403     204     403     403
POST /api/v1/secrets/rotate                   401     403     403     403     200     403     200     403     403

GET /api/v1/cluster                           401     403     403     403     200     403     200     403     200
GET /api/v1/settings                          401     403     403     403     200     403     200     403     200
GET /api/v1/settings/file                     401     403     403     403     200     403     200     403     200

GET /api/v1/version                           401     200     200     200     200     200     200     403     200

GET /api/v1/openapi.json                      401     200     200     200     200     200     200     403     200

POST /api/v1/apply                            401     200     403     200     200     403     200     403     403
GET /api/v1/export                            401     200     200     200     200     200     200     403     200

GET /api/v1/packs                             401     200     200     200     200     200     200     403     200
POST /api/v1/packs/plan                       401     200     403     200     200     403     200     403     403
POST /api/v1/packs/add                        401     201     403     201     201     403     201     403     403
POST /api/v1/packs/add (command)              401     403     403     403     403     403     403     403     403
GET /api/v1/packs/export?server={server}      401     404     403     403     200     403     200     403     200

POST /api/v1/audit/verify                     401     403     403     403     200     403     200     403     403
GET /api/v1/audit/export                      401     403     403     403     200     403     200     403     200
GET /api/v1/changes                           401     200     403     403     200     403     200     403     200
GET /api/v1/changes/{change}                  401     404     403     403     404     403     404     403     404

GET /api/v1/deliveries                        401     200     200     200     200     403     200     403     200
GET /api/v1/deliveries/{delivery}             401     404     404     404     404     403     404     403     404
POST /api/v1/deliveries/actions               401     200     403     403     200     403     200     403     403
GET /api/v1/endpoints                         401     200     200     200     200     403     200     403     200
POST /api/v1/endpoints/stop                   401     204     403     403     204     403     204     403     403
POST /api/v1/endpoints/start                  401     204     403     403     204     403     204     403     403
GET /api/v1/agent-tokens                      401     200     403     403     200     403     200     403     200
PUT /api/v1/agent-tokens/{recipient}          401     200     403     403     200     403     200     403     403
DELETE /api/v1/agent-tokens/{recipient}       401     404     403     403     204     403     204     403     403

GET /api/v1/nothing                           404     404     404     404     404     404     404     404     404
`

const (
	foreignOrigin = "403"
	foreignHost   = "421"
)

// bodies are what is sent, where it is something. NEW is a name that nothing
// has, and PEER the address of a server.
func bodies() map[string]string {
	const (
		meta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		list     = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
		call     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"books__tag","arguments":{"nonce":"n"},` + meta + `}}`
		own      = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tag","arguments":{"nonce":"n"},` + meta + `}}`
		bridge   = `{"endpoint":{"server":"books"},"tool_name":"tag","arguments":{"nonce":"n"}}`
		endpoint = `{"endpoint":{"url":"PEER"},"tool_name":"tag","arguments":{"nonce":"n"}}`
		task     = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hello"}]}}}`
	)
	return map[string]string{
		"POST /login":  "name=NEW&password=NEW",
		"POST /logout": "x=1",

		"POST /oauth/authorize": "question=x&answer=yes",
		"POST /oauth/token":     "grant_type=refresh_token&client_id=x&refresh_token=x",
		"POST /oauth/revoke":    "token=x&client_id=x",
		"POST /oauth/register":  `{"redirect_uris":["https://a.example/cb"]}`,

		"POST /mcp (list)":                    list,
		"POST /mcp (call)":                    call,
		"POST /mcp (hello)":                   `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		"POST /mcp/s/{server} (list)":         list,
		"POST /mcp/s/{server} (call)":         own,
		"POST /mcp/a/{agent} (list)":          list,
		"POST /mcp/a/{agent} (call)":          call,
		"POST /mcp/request (list)":            list,
		"POST /mcp/request (call)":            call,
		"POST /mcp/a/{agent}/request (call)":  call,
		"POST /mcp/call":                      bridge,
		"POST /mcp/call (endpoint)":           endpoint,
		"POST /mcp/a/{agent}/call":            bridge,
		"POST /mcp/a/{agent}/call (endpoint)": endpoint,
		"POST /a/{agent}/v1/chat/completions": `{"model":"x","messages":[{"role":"user","content":"hello"}]}`,
		"POST /messages":                      list,
		"POST /a2a/{published}":               task,
		"POST /a2a/{published}/":              task,

		"POST /api/v1/servers":                                `{"id":"NEW","url":"PEER"}`,
		"POST /api/v1/servers/{guarded}/login":                `{}`,
		"POST /api/v1/servers/{guarded}/login/finish":         `{"login":"x","url":"http://127.0.0.1/callback?code=x"}`,
		"POST /api/v1/chains/{other}/rewind":                  `{"to":1}`,
		"POST /api/v1/chains/agents/find":                     `{"agent":"eip155:1:0x8004A169FB4a3325136EB29fA0ceB6D2e539a432/1"}`,
		"POST /api/v1/servers/probe":                          `{"url":"PEER"}`,
		"POST /api/v1/servers/probe/steps":                    `{"url":"PEER"}`,
		"POST /api/v1/servers/preview":                        `{"document":"openapi: 3.1.0"}`,
		"POST /api/v1/servers/preview/steps":                  `{"document":"openapi: 3.1.0"}`,
		"POST /api/v1/servers/preview/document":               `{"base_url":"https://api.example.com"}`,
		"POST /api/v1/servers/{server}/import":                `{"document":"openapi: 3.1.0"}`,
		"POST /api/v1/servers/{server}/suggestions":           `{}`,
		"POST /api/v1/servers/{server}/suggestions/steps":     `{}`,
		"POST /api/v1/servers/{server}/suggestions/approve":   `{"ids":["none"]}`,
		"POST /api/v1/servers/{server}/suggestions/reject":    `{"ids":["none"]}`,
		"PATCH /api/v1/servers/{server}":                      `{"title":"` + within + `"}`,
		"POST /api/v1/tools/{tool}/call":                      `{"arguments":{"nonce":"n"}}`,
		"POST /api/v1/run":                                    `{"name":"books__tag","arguments":{"nonce":"n"}}`,
		"PUT /api/v1/apps/{tool}/approval":                    `{"digest":"` + strings.Repeat("a", 64) + `"}`,
		"POST /api/v1/views":                                  `{"tool":"books__tag"}`,
		"POST /api/v1/views/{view}/rpc":                       `{"method":"ping"}`,
		"POST /api/v1/views/{view}/log":                       `{"entries":[]}`,
		"POST /api/v1/views/{view}/answers/{ask}":             `{"result":{}}`,
		"POST /api/v1/views/{view}/tools/{ask}/call":          `{}`,
		"PUT /api/v1/tools/{tool}/tag":                        `{"roles":["General"]}`,
		"POST /api/v1/agents":                                 `{"name":"NEW"}`,
		"PATCH /api/v1/agents/{agent}":                        `{"title":"` + within + `"}`,
		"POST /api/v1/agents/{agent}/runs":                    `{"message":"hello"}`,
		"POST /api/v1/models":                                 `{"name":"NEW","kind":"openai","model":"m","base_url":"http://127.0.0.1:1/v1"}`,
		"PATCH /api/v1/models/{model}":                        `{"model":"` + within + `"}`,
		"PUT /api/v1/component-catalogs/{catalog}":            `{"document":{"catalogId":"https://example.com/NEW.json","components":{"NEW:X":{}}}}`,
		"POST /api/v1/keys":                                   `{"name":"x","scopes":["tools:read"]}`,
		"POST /api/v1/keys (stronger)":                        `{"name":"x","scopes":["admin"]}`,
		"POST /api/v1/keys/{key}/rotate":                      `{}`,
		"POST /api/v1/users":                                  `{"name":"NEW"}`,
		"PATCH /api/v1/users/{user}":                          `{"tier":"pro"}`,
		"PUT /api/v1/users/{user}/password":                   `{"password":"a fine long password"}`,
		"POST /api/v1/tenants":                                `{"id":"NEW"}`,
		"PUT /api/v1/servers/{personal}/credentials/me":       `{"auth":{"type":"bearer","token":"t"}}`,
		"PUT /api/v1/me/sources":                              `{"sources":"both"}`,
		"PUT /api/v1/me/password":                             `{"password":"a fine long password"}`,
		"POST /hooks/{other}/{source}":                        `{}`,
		"POST /hooks/{source}":                                `{}`,
		"POST /api/v1/events":                                 `{"type":"x"}`,
		"POST /api/v1/triggers":                               `{"name":"NEW","action":{"agent":"event","tool":"x"}}`,
		"POST /api/v1/triggers/test":                          `{"action":{"agent":"7","tool":"x"},"event":{"type":"x"}}`,
		"PATCH /api/v1/triggers/{trigger}":                    `{"title":"` + within + `"}`,
		"POST /api/v1/sources":                                `{"id":"NEW","style":"github","secret":"a fine long secret"}`,
		"POST /api/v1/sources (redis)":                        `{"id":"NEW","style":"redis","secret":"redis://127.0.0.1:1","disabled":true}`,
		"PATCH /api/v1/sources/{source}":                      `{"title":"` + within + `"}`,
		"PUT /api/v1/schedules/{schedule}":                    `{"cron":"@yearly","type":"tick"}`,
		"POST /api/v1/rooms":                                  `{"name":"NEW"}`,
		"PATCH /api/v1/rooms/{room}":                          `{"max_rounds":4}`,
		"POST /api/v1/rooms/{room}/runs":                      `{"threadId":"","runId":"NEW","messages":[{"id":"NEW","role":"user","content":"hi"}]}`,
		"PATCH /api/v1/limits":                                `{}`,
		"PUT /api/v1/policies":                                `{"rules":[]}`,
		"PUT /api/v1/policies/{policy}":                       `{"verdict":"deny","target":{"items":["nothing/NEW"]}}`,
		"POST /api/v1/policies/check":                         `{"rules":[{"name":"a","verdict":"deny"}]}`,
		"POST /api/v1/policies/simulate":                      `{}`,
		"POST /api/v1/policies/test":                          `{"cases":[{"call":"books/tag","expect":"made"}]}`,
		"POST /api/v1/rooms/{room}/messages/{message}/report": `{"errors":[{"surfaceId":"s","message":"m"}]}`,
		"PUT /api/v1/secrets/{server}/{secret}":               `{"value":"` + within + `"}`,
		"POST /api/v1/deliveries/actions":                     `{"action":"hold","agent":"nobody"}`,
		"POST /api/v1/endpoints/stop":                         `{"endpoint":"agent:nobody"}`,
		"POST /api/v1/endpoints/start":                        `{"endpoint":"agent:nobody"}`,
		"PUT /api/v1/agent-tokens/{recipient}":                `{"url":"https://agent.example/mcp"}`,
		"POST /api/v1/apply":                                  `{"servers":{},"dry_run":true}`,
		"POST /api/v1/packs/plan":                             `{"pack":"github"}`,
		"POST /api/v1/packs/add":                              `{"file":"{pack: p, title: P, summary: P, servers: {NEW: {url: 'PEER'}}}"}`,
		"POST /api/v1/packs/add (command)":                    `{"file":"{pack: p, title: P, summary: P, servers: {NEW: {command: ['true']}}}","commands":{"NEW":["true"]}}`,
	}
}

// headers are sent beside a body of MCP.
func headers(row string) []string {
	switch {
	case row == "POST /oauth/register":
		return nil
	case strings.HasPrefix(row, "POST /log"), strings.HasPrefix(row, "POST /oauth/"), strings.HasPrefix(row, "POST /connect"):
		return []string{"Content-Type: application/x-www-form-urlencoded"}
	case strings.HasPrefix(row, "POST /mcp/s/") && strings.HasSuffix(row, "(call)"):
		return []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: tag"}
	case strings.HasSuffix(row, "(call)"):
		return []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: books__tag"}
	case strings.HasSuffix(row, "(list)"):
		return []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// row is one line of the matrix.
type row struct {
	name         string // the line without its cells
	method, path string
	want         map[string]string // by column
}

// rows reads the matrix.
func rows(t *testing.T) []row {
	t.Helper()
	var columns []string
	var out []row
	for line := range strings.SplitSeq(matrix, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case columns == nil:
			columns = fields
			continue
		}
		n := len(fields) - len(columns)
		r := row{name: strings.Join(fields[:n], " "), method: fields[0], path: fields[1], want: map[string]string{"Origin": foreignOrigin, "Host": foreignHost}}
		if r.path == "/healthz" || r.path == "/readyz" { // health checks come by address
			r.want["Host"] = "200"
		}
		for i, column := range columns {
			r.want[column] = fields[n+i]
		}
		r.want["expired"], r.want["revoked"] = r.want["nobody"], r.want["nobody"]
		out = append(out, r)
	}
	return out
}

// pattern is a route, or the path of a row, without the names in it.
func pattern(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return placeholder.ReplaceAllString(strings.TrimSuffix(path, "{$}"), "{}")
}

// Every route that is registered has a row, and every row but the last a route.
func TestEveryRouteHasARow(t *testing.T) {
	t.Parallel()
	s := start(t)
	known := map[string]bool{}
	for _, r := range rows(t) {
		known[r.method+" "+pattern(r.path)] = true
		known[pattern(r.path)] = true
	}
	routes := s.App.Routes()
	for _, route := range routes {
		if !known[pattern(route)] {
			t.Errorf("the route %s has no row in the matrix", route)
		}
	}
	t.Logf("figure: %d routes and ways to use them, each with an answer for %d callers", len(rows(t)), len(s.callers))
	if len(routes) < 80 {
		t.Errorf("only %d routes: the list is broken", len(routes))
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.add("POST", "/tenants", `{"id":"spare"}`)
	asked := 0
	for _, r := range rows(t) {
		for column, want := range r.want {
			asked++
			s.cell(r, column, want)
		}
	}
	t.Logf("figure: %d requests, each answered as the matrix says", asked)
}

// cell asks as one caller.
func (s *scene) cell(r row, column, want string) {
	s.t.Helper()
	fresh := r.method == http.MethodDelete || strings.HasSuffix(r.path, "/disable") || strings.HasSuffix(r.path, "/runs")
	ids := []string{"books"} // in bodies
	path := placeholder.ReplaceAllStringFunc(r.path, func(p string) string {
		id := s.thing(p[1:len(p)-1], fresh && !strings.Contains(r.path, "{secret}"))
		ids = append(ids, id)
		return id
	})
	body := strings.NewReplacer("NEW", s.name(), "PEER", s.peer).Replace(bodies()[r.name])
	header := append(headers(r.name), s.callers[column]...)
	got := s.ask(r.method, path, body, header...)
	if r.path == "/logout" {
		s.browser()
	}
	where := fmt.Sprintf("%s by %s", r.name, column)
	if status := answered(got); status != want {
		s.t.Errorf("%s: %s, want %s: %.400q", where, status, want, got.Body)
		return
	}
	if strings.HasPrefix(path, "/api/") && got.Status >= 400 && column != "Origin" && column != "Host" {
		var problem struct{ Code junctor.Code }
		if err := json.Unmarshal([]byte(got.Body), &problem); err != nil || problem.Code != code(got.Status) {
			s.t.Errorf("%s: %s is not the code of %s: %s", where, problem.Code, want, got.Body)
		}
	}
	if column == "tenant" && strings.Contains(got.Body, within) {
		s.t.Errorf("%s: shows what is of another tenant: %s", where, got.Body)
	}
	if column == "tenant" && want != "403" || want == "404" {
		s.likeUnknown(where, r, path, body, ids, header, got)
	}
}

// answered is a status, with ! where the answer is an error all the same.
func answered(r testkit.Reply) string {
	var message struct{ Error json.RawMessage }
	if r.Status == http.StatusOK && json.Unmarshal([]byte(r.Body), &message) == nil && message.Error != nil {
		return "200!"
	}
	return strconv.Itoa(r.Status)
}

// likeUnknown holds that what is not for the caller is answered like what is not
// there.
func (s *scene) likeUnknown(where string, r row, path, body string, ids, header []string, told testkit.Reply) {
	s.t.Helper()
	for _, id := range ids {
		absent := strings.ReplaceAll(strings.Repeat("z", len(id)), "zzzzzzz", "z__zzzz") // as long, and as well formed
		if !strings.Contains(id, "__") {
			absent = strings.Repeat("z", len(id))
		}
		swap := strings.NewReplacer(id, absent)
		lines := make([]string, len(header))
		for i, line := range header {
			lines[i] = swap.Replace(line)
		}
		if told.Status < 400 && !strings.HasSuffix(answered(told), "!") || path+body == swap.Replace(path+body) {
			continue
		}
		other := s.ask(r.method, swap.Replace(path), swap.Replace(body), lines...)
		if other.Status != told.Status || strings.ReplaceAll(other.Body, absent, id) != told.Body {
			s.t.Errorf("%s: there is %s, and the answer is %d\n%s\nof what is not there it is %d\n%s", where, id, told.Status, told.Body, other.Status, other.Body)
		}
	}
}

func code(status int) junctor.Code {
	return map[int]junctor.Code{
		http.StatusUnauthorized: junctor.CodeUnauthenticated, http.StatusForbidden: junctor.CodeDenied, http.StatusNotFound: junctor.CodeNotFound,
		http.StatusConflict: junctor.CodeConflict, http.StatusPreconditionFailed: junctor.CodePrecondition, http.StatusUnprocessableEntity: junctor.CodeInvalid,
	}[status]
}
