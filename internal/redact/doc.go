// Package redact finds secrets and personal data in texts, and removes them from
// the results of calls.
//
// The history redacts what it stores with the same detector of secrets
// (Secrets, ClassifyName). Rules of operators redact what callers receive with a
// Redactor: it has detectors for e-mail addresses, phone numbers, IBANs, card
// numbers, JWTs and secrets, and patterns of the operator. Redactor.Result goes
// through all texts of a result, and Cut shortens them. Both keep a result valid:
// JSON stays JSON, and structured content stays as its schema requires. If that is
// not possible, they return an error, so that the caller can withhold the result.
//
// To read the code, begin with redactor.go. Then:
//
//   - secrets.go, secret_scan.go, word_stats.go and secret_names.go: secrets by their form and their name.
//   - email.go, jwt.go and numbers.go: the other detectors.
//   - result.go, walk.go and blob.go: the texts of a result; structured.go: its structured content.
//   - cut.go: shorter results.
package redact
