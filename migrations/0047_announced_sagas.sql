-- Which sagas a process can run, as name@version, so that the doctor can tell sagas that no process runs. Null: a process
-- of a release before, which does not say.
ALTER TABLE sagapost.processes ADD COLUMN saga_definitions text[];
GRANT INSERT (saga_definitions) ON sagapost.processes TO schema_maintainer;
