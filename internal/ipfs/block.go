package ipfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// block gets one block and checks it. A gateway that hands over wrong bytes is
// passed over for the next; only when every gateway has been asked is it an
// error, and then wrong bytes weigh more than missing ones.
func (r *Reader) block(ctx context.Context, c cid.Cid) ([]byte, error) {
	if c.Prefix().MhType == multihash.IDENTITY {
		inline, err := multihash.Decode(c.Hash())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		return inline.Digest, nil
	}
	if len(r.gateways) == 0 {
		return nil, fmt.Errorf("%w: no IPFS gateway is set", ErrMissing)
	}
	var faults []error
	for _, gateway := range r.gateways {
		data, err := r.ask(ctx, gateway, c)
		if err == nil {
			err = check(c, data)
		}
		if err == nil {
			return data, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		faults = append(faults, fmt.Errorf("%s: %w", gateway, err))
	}
	all := errors.Join(faults...)
	if errors.Is(all, ErrTampered) {
		return nil, fmt.Errorf("block %s: %w", c, all)
	}
	return nil, fmt.Errorf("block %s: %w: %w", c, ErrMissing, all)
}

// ask gets a block's bytes from one gateway, unchecked.
func (r *Reader) ask(ctx context.Context, gateway string, c cid.Cid) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, gateway+"/ipfs/"+c.String()+"?format=raw", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/vnd.ipld.raw")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBlock+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBlock {
		return nil, fmt.Errorf("%w: more than the %d bytes of a block", ErrTampered, maxBlock)
	}
	return data, nil
}

// check compares bytes with the identifier that they were asked by.
func check(c cid.Cid, data []byte) error {
	got, err := c.Prefix().Sum(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if !got.Equals(c) {
		return fmt.Errorf("%w: expected %s, the bytes are %s", ErrTampered, c, got)
	}
	return nil
}
