package mcpagent

import (
	"math/big"
	"strconv"
)

// Names of tools that senders of feedback and validations expect.
const (
	ReceiveFeedbackTool     = "agent.receiveFeedback"
	ReceiveValidationTool   = "agent.receiveValidation"
	UpdateConfigurationTool = "agent.updateConfiguration"
)

// Feedback is feedback on an agent's work. It has a value with decimals or, from
// older senders, a score from 0 to 100.
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
	// TransactionHash and LogIndex identify the event on its chain. An event that
	// revokes it has the same.
	TransactionHash string `json:"transactionHash,omitempty"`
	LogIndex        int64  `json:"logIndex,omitempty"`
	Timestamp       int64  `json:"timestamp,omitempty"`
}

// Rating returns the value, or the score if there is no valid value; nil if there is
// neither. It rejects values of excessive length, whose conversion would be
// expensive in CPU.
func (f *Feedback) Rating() *big.Rat {
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

// Bounds of a value: number of digits, and of those after the decimal point.
const (
	maxDigits   = 100
	maxDecimals = 18
)

// IsBelow reports whether the feedback has a worth below a limit. Feedback without a
// worth is not low.
func (f *Feedback) IsBelow(limit int64) bool {
	worth := f.Rating()
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

// Configuration holds new settings of the agent, by name.
type Configuration map[string]any
