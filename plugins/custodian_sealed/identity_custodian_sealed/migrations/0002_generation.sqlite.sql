-- Which data key lies in the box, from 1. The box of a later one is bound to the number.
ALTER TABLE custodian_seal ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
