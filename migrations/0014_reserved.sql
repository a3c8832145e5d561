-- Local stand-in.
SELECT 1;
