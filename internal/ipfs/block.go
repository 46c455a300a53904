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

// fetchBlock fetches and verifies one block. If a gateway returns wrong bytes,
// the next one is asked. Only after all have failed is it an error: ErrTampered
// if any returned wrong bytes, otherwise ErrMissing.
func (r *Reader) fetchBlock(ctx context.Context, c cid.Cid) ([]byte, error) {
	// An identity hash contains the data itself: there is nothing to fetch or
	// verify.
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
		data, err := r.fetchFromGateway(ctx, gateway, c)
		if err == nil {
			err = verifyBlock(c, data)
		}
		if err == nil {
			return data, nil
		}
		// The caller has left: do not ask the remaining gateways.
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

// fetchFromGateway fetches a block from one gateway, without verifying it.
func (r *Reader) fetchFromGateway(ctx context.Context, gateway string, c cid.Cid) ([]byte, error) {
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
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBlockBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBlockBytes {
		return nil, fmt.Errorf("%w: a block has more than %d bytes", ErrTampered, maxBlockBytes)
	}
	return data, nil
}

// verifyBlock compares bytes with the identifier that they were requested by.
func verifyBlock(c cid.Cid, data []byte) error {
	got, err := c.Prefix().Sum(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if !got.Equals(c) {
		return fmt.Errorf("%w: expected %s, got %s", ErrTampered, c, got)
	}
	return nil
}
