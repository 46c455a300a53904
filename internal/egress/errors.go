package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// classifyError gives an error of a transport its code, and a message without the
// address that was dialled. CodeUnreachable is only for errors that certainly happened
// before the request was sent, so that callers know what they may repeat.
func classifyError(ctx context.Context, host string, err error) error {
	var own *junctor.Error
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return contextError(ctx)
	case errors.As(err, &dns):
		return newError(junctor.CodeUnreachable, "cannot resolve the host name "+host+"", err)
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect"):
		return newError(junctor.CodeUnreachable, "cannot connect to "+host+"", err)
	case errors.As(err, &cert), isCertificateError(err):
		return newError(junctor.CodeUnreachable, "the TLS certificate of "+host+" is not valid", err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch), strings.Contains(err.Error(), "TLS handshake timeout"):
		return newError(junctor.CodeUnreachable, host+" does not speak TLS", err)
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return newError(junctor.CodeTooLarge, "the response of "+host+" has more than 64 KiB of headers", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return newError(junctor.CodeTimeout, host+" did not answer in time", err)
	case errors.Is(err, context.Canceled):
		return junctor.AsError(err)
	}
	return newError(junctor.CodeUpstream, host+" closed the connection, or did not answer with HTTP", err)
}

// contextError returns why a context ended: its cause, if that is a *junctor.Error.
func contextError(ctx context.Context) error {
	if own, ok := errors.AsType[*junctor.Error](context.Cause(ctx)); ok {
		return own
	}
	return junctor.AsError(ctx.Err())
}

func isCertificateError(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// newError makes an error with a code and a cause that callers do not see.
func newError(code junctor.Code, message string, cause error) error {
	return &junctor.Error{Code: code, Message: message, Cause: cause}
}
