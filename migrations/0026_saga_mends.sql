-- What a review of sagas that wait found: a way out for a step that waits for what never comes.

-- Steps --------------------------------------------------------------------------------------------------------
--
-- As in 0017, and one move more: an operator gives up what a step waits for, and the saga goes on without it.
DROP TRIGGER saga_step_moves_legally ON sagapost.saga_steps;
CREATE TRIGGER saga_step_moves_legally
  BEFORE UPDATE ON sagapost.saga_steps
  FOR EACH ROW WHEN (OLD.state NOT IN (5, 6) AND NOT (
    (NEW.attempts = OLD.attempts AND (
      NEW.state = OLD.state
      OR (OLD.state = 0 AND NEW.state = 6)
      OR (OLD.state = 1 AND NEW.state IN (2, 3, 6))
      OR (OLD.state = 2 AND NEW.state = 4)
      OR (OLD.state = 3 AND NEW.state IN (4, 6))
      OR (OLD.state = 4 AND NEW.state IN (3, 5))))
    OR (NEW.attempts = OLD.attempts + 1 AND OLD.state IN (0, 3) AND NEW.state = 1)
  ))
  EXECUTE FUNCTION sagapost.refuse('SP002', 'this is not a legal move of a step');
ALTER TABLE sagapost.saga_steps ENABLE ALWAYS TRIGGER saga_step_moves_legally;

COMMENT ON COLUMN sagapost.saga_instances.awaiting_operator IS
  'Failed: an undo failed for good. Running: a step waits for what does not come by itself, a dead-lettered delivery, say; its error says why';
