package mcpagent

import (
	"math/big"
	"strconv"
)

// The tools that senders know by these names.
const (
	ReceiveFeedback     = "agent.receiveFeedback"
	ReceiveValidation   = "agent.receiveValidation"
	UpdateConfiguration = "agent.updateConfiguration"
)

// Feedback is what somebody says of an agent's work. It has a value with
// decimals, or a score from 0 to 100 as older senders give it.
type Feedback struct {
	Value         any            `json:"value,omitempty" jsonschema:"what the work was worth: a whole number, or one as a text, of which valueDecimals digits stand behind the point"`
	ValueDecimals int            `json:"valueDecimals,omitempty"`
	Score         *int           `json:"score,omitempty" jsonschema:"0 to 100, from older senders"`
	Tag1          string         `json:"tag1,omitempty"`
	Tag2          string         `json:"tag2,omitempty"`
	ClientAddress string         `json:"clientAddress" jsonschema:"who says so"`
	FeedbackIndex int64          `json:"feedbackIndex" jsonschema:"the number of this feedback among theirs"`
	FileURI       string         `json:"fileUri,omitempty"`
	FileHash      string         `json:"fileHash,omitempty"`
	FileContent   map[string]any `json:"fileContent,omitempty" jsonschema:"the file, verified; absent where it could not be had"`
	BlockNumber   int64          `json:"blockNumber,omitempty"`
	// TransactionHash and LogIndex name the event on its chain. What takes the event back
	// names the same.
	TransactionHash string `json:"transactionHash,omitempty"`
	LogIndex        int64  `json:"logIndex,omitempty"`
	Timestamp       int64  `json:"timestamp,omitempty"`
}

// Worth is the value, or else the score; nil where there is neither.
func (f *Feedback) Worth() *big.Rat {
	var text string
	switch v := f.Value.(type) {
	case string:
		text = v
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if r, ok := new(big.Rat).SetString(text); ok && len(text) < maxDigits && f.ValueDecimals >= 0 && f.ValueDecimals <= maxDecimals {
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(f.ValueDecimals)), nil)
		return r.Quo(r, new(big.Rat).SetInt(scale))
	}
	if f.Score != nil {
		return big.NewRat(int64(*f.Score), 1)
	}
	return nil
}

// The bounds of a value: digits in all, and behind the point.
const (
	maxDigits   = 100
	maxDecimals = 18
)

// Low says that the feedback has a worth below a limit.
func (f *Feedback) Low(limit int64) bool {
	worth := f.Worth()
	return worth != nil && worth.Cmp(big.NewRat(limit, 1)) < 0
}

// Validation is the result of a check of an agent's work.
type Validation struct {
	ValidatorAddress string         `json:"validatorAddress"`
	Response         int            `json:"response" jsonschema:"0 to 100"`
	Tag              string         `json:"tag,omitempty"`
	ResponseURI      string         `json:"responseUri,omitempty"`
	FileContent      map[string]any `json:"fileContent,omitempty" jsonschema:"the file, verified; absent where it could not be had"`
	BlockNumber      int64          `json:"blockNumber,omitempty"`
	TransactionHash  string         `json:"transactionHash,omitempty"` // with LogIndex, as in Feedback
	LogIndex         int64          `json:"logIndex,omitempty"`
}

// Configuration is what an agent is to do otherwise from now on.
type Configuration map[string]any
