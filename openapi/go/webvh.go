package identity

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// webvhState is what a log of did:webvh 1.0 (https://identity.foundation/didwebvh/v1.0/) says beyond what every log says.
type webvhState struct {
	scid      string
	portable  bool
	witnesses *witnesses
}

// witnesses: threshold of keys must approve.
type witnesses struct {
	threshold int
	keys      []string
}

const (
	webvhVersion   = "did:webvh:1.0"
	mostLineOctets = 256 << 10
	label          = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
)

var (
	webvhDID  = regexp.MustCompile(`^did:webvh:(` + hashPattern + `):([^:]+)((?::(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})+)*)$`)
	webvhHost = regexp.MustCompile(`^(?:` + label + `\.)+(` + label + `)(?:%3A[1-9][0-9]{1,4})?$`)
	// An address has a number for its last label (WHATWG URL, "ends in a number"), and no domain does.
	numeric       = regexp.MustCompile(`^(?:0[xX][0-9A-Fa-f]*|[0-9]+)$`)
	webvhDefaults = object{
		"updateKeys": []any{}, "nextKeyHashes": []any{}, "witness": object{}, "watchers": []any{}, "portable": false,
		"deactivated": false, "ttl": nil,
	}
	errParameters = errors.New("the parameters of the entry are malformed, unknown, or not for this entry to say")
)

// nextWebvh is the state after an entry of a log of did:webvh.
func nextWebvh(before *state, line string) (*state, error) {
	if len(line) > mostLineOctets {
		return nil, errors.New("the entry is too large")
	}
	read, err := parseJSON([]byte(line))
	if err == nil {
		err = checkUnique([]byte(line))
	}
	if err != nil {
		return nil, err
	}
	said, err := readEntry(read)
	if err != nil {
		return nil, err
	}
	after := &state{entry: said, webvh: &webvhState{}}
	if err := after.readParameters(before); err != nil {
		return nil, err
	}
	if before != nil {
		err = before.checkOrder(said)
	} else if said.number != 1 {
		err = errors.New("the entry does not have the next number")
	}
	if err == nil && before == nil {
		err = said.checkFirstHash(after.webvh.scid)
	} else if err == nil {
		err = said.checkNextHash(before.versionID)
	}
	if err != nil {
		return nil, err
	}
	signers, err := after.signers(before)
	for place := 0; err == nil && place < len(said.proofs); place++ {
		_, err = checkProof(said.proofs[place], said.body, signers)
	}
	if err == nil {
		err = after.readDID(before)
	}
	return after, err
}

// readParameters: those of the entry over those before over the defaults ("DID Method Parameters").
func (s *state) readParameters(before *state) error {
	inForce := object{}
	for name, value := range webvhDefaults {
		inForce[name] = value
	}
	if before != nil {
		inForce["updateKeys"], inForce["nextKeyHashes"] = list(before.updateKeys), list(before.nextKeyHashes)
		inForce["portable"] = before.webvh.portable
		s.webvh.scid, s.webvh.witnesses = before.webvh.scid, before.webvh.witnesses
	}
	for name, value := range s.parameters {
		standing, isKnown := webvhDefaults[name]
		if !isKnown && name != "method" && name != "scid" {
			return errParameters
		}
		if value == nil {
			value = standing
		}
		inForce[name] = value
	}
	method, saysMethod := inForce["method"]
	scid, saysSCID := inForce["scid"].(string)
	_, saysKeys := s.parameters["updateKeys"]
	_, mentions := s.parameters["scid"]
	if (before == nil || saysMethod) && method != webvhVersion || mentions != (before == nil) || before == nil && (!saysSCID || !saysKeys) {
		return errParameters
	}
	if before == nil {
		s.webvh.scid = scid
	}
	var areKeys, areHashes, isPortable, isEnd bool
	s.updateKeys, areKeys = texts(inForce["updateKeys"])
	s.nextKeyHashes, areHashes = texts(inForce["nextKeyHashes"])
	_, areWatchers := texts(inForce["watchers"])
	s.webvh.portable, isPortable = inForce["portable"].(bool)
	s.deactivated, isEnd = inForce["deactivated"].(bool)
	_, isSeconds := integer(inForce["ttl"], 0, 1<<31)
	if !areKeys || !areHashes || !areWatchers || !isPortable || !isEnd || (inForce["ttl"] != nil && !isSeconds) {
		return errParameters
	}
	if before != nil && s.parameters["portable"] == true && !before.webvh.portable {
		return errors.New("a DID is portable from the start or never")
	}
	var err error
	if _, says := s.parameters["witness"]; says {
		s.webvh.witnesses, err = readWitnesses(inForce["witness"])
	}
	return err
}

// signers are the keys before the entry; with pre-rotation its own, to which the entry before has committed.
func (s *state) signers(before *state) ([]string, error) {
	signers := s.updateKeys
	if before != nil && len(before.nextKeyHashes) == 0 {
		signers = before.updateKeys
	} else if before != nil {
		_, saysKeys := s.parameters["updateKeys"]
		_, saysHashes := s.parameters["nextKeyHashes"]
		for _, key := range signers {
			saysKeys = saysKeys && contains(before.nextKeyHashes, multihash([]byte(key)))
		}
		if !saysKeys || !saysHashes {
			return nil, errors.New("with pre-rotation every entry says updateKeys that were committed to, and nextKeyHashes")
		}
	}
	for _, key := range signers {
		if _, err := multikey(key, publicPrefix); err != nil {
			return nil, err
		}
	}
	return signers, nil
}

func (s *state) readDID(before *state) error {
	s.did, _ = s.document["id"].(string)
	named := webvhDID.FindStringSubmatch(s.did)
	if named == nil || named[1] != s.webvh.scid {
		return errors.New("the document is one of another DID")
	}
	if host := webvhHost.FindStringSubmatch(named[2]); host == nil || numeric.MatchString(host[1]) {
		return errors.New("the host is no domain name")
	}
	for _, segment := range strings.Split(named[3], ":")[1:] {
		plain, err := url.PathUnescape(segment)
		leaves := strings.IndexFunc(plain, func(one rune) bool { return !unicode.IsPrint(one) || strings.ContainsRune(`/\?#%`, one) })
		if err != nil || plain == "." || plain == ".." || leaves != -1 {
			return errors.New("the path leaves its place")
		}
	}
	if before == nil || s.did == before.did {
		return nil
	}
	aliases, _ := s.document["alsoKnownAs"].([]any)
	for _, alias := range aliases {
		if s.webvh.portable && alias == before.did {
			return nil
		}
	}
	return errors.New("the DID was moved without being portable, or without naming where it came from")
}

func readWitnesses(value any) (*witnesses, error) {
	said, is := value.(object)
	if is && len(said) == 0 {
		return nil, nil
	}
	list, areWitnesses := objects(said["witnesses"])
	threshold, isReachable := integer(said["threshold"], 1, len(list))
	if !is || len(said) != 2 || !areWitnesses || !isReachable {
		return nil, errors.New("the witnesses are malformed, or their threshold cannot be met")
	}
	found := &witnesses{threshold: threshold}
	for _, one := range list {
		id, _ := one["id"].(string)
		key := strings.TrimPrefix(id, "did:key:")
		if _, err := multikey(key, publicPrefix); err != nil || contains(found.keys, key) {
			return nil, errors.New("a witness is no Ed25519 key, or there twice")
		}
		found.keys = append(found.keys, key)
	}
	return found, nil
}

// unapproved finds the entry, from 0, of which too few witnesses approved ("DID Witnesses"). An approval holds for all entries before its own,
// and a list that is replaced must itself approve of the entry that replaces it.
func unapproved(states []*state, witnessFile string) (int, error) {
	required, last := make([]*witnesses, len(states)), -1
	var everybody []string
	for place, one := range states {
		if one.webvh == nil {
			return 0, nil
		}
		required[place] = one.webvh.witnesses
		if place > 0 && states[place-1].webvh.witnesses != nil {
			required[place] = states[place-1].webvh.witnesses
		}
		if required[place] != nil {
			last, everybody = place, append(everybody, required[place].keys...)
		}
	}
	if last == -1 {
		return 0, nil
	}
	proofs, err := readApprovals(witnessFile)
	if err != nil {
		return last, err
	}
	seen := map[string]bool{}
	for place := len(states) - 1; place >= 0; place-- {
		for _, item := range proofs[states[place].versionID] {
			proof, _ := item.(object)
			// A bad proof counts for nothing, and spoils nothing.
			if key, err := checkProof(proof, object{"versionId": states[place].versionID}, everybody); err == nil {
				seen[key] = true
			}
		}
		count := 0
		if required[place] != nil {
			for _, key := range required[place].keys {
				if seen[key] {
					count++
				}
			}
			if count < required[place].threshold {
				return place, errors.New("too few witnesses approved of the entry")
			}
		}
	}
	return 0, nil
}

// readApprovals gives the proofs of did-witness.json by versionId.
func readApprovals(witnessFile string) (map[string][]any, error) {
	read, err := parseJSON([]byte(witnessFile))
	if err == nil {
		err = checkUnique([]byte(witnessFile))
	}
	if err != nil {
		return nil, err
	}
	list, is := objects(read)
	found := map[string][]any{}
	for _, one := range list {
		versionID, isText := one["versionId"].(string)
		proofs, isList := one["proof"].([]any)
		is = is && isText && isList
		found[versionID] = append(found[versionID], proofs...)
	}
	if !is {
		return nil, errors.New("did-witness.json is malformed")
	}
	return found, nil
}

func list(texts []string) []any {
	found := make([]any, 0, len(texts))
	for _, text := range texts {
		found = append(found, text)
	}
	return found
}
